// Copies the pages that help to ask questions into the package, where they are resources for agents. Part of the build.
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const source = join(import.meta.dirname, '../../docs');
const target = join(import.meta.dirname, 'docs');
const folders = ['explanation', 'get-started', 'how-to/query', 'reference'];

rmSync(target, { recursive: true, force: true });
for (const folder of folders) cpSync(join(source, folder), join(target, folder), { recursive: true });
