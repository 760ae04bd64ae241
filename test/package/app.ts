/**
 * Creates the app of docs/how-to/integrate/typescript.md in an empty folder. The package ledger-indexer has the
 * contents of the tarball. The other packages (kysely, pg, the compiler) are symbolic links, so that nothing is
 * downloaded.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const project = join(import.meta.dirname, '../..');

/** Adds symbolic links to the packages of the project, except its own packages, to the folder's node_modules. */
export function linkDependencies(folder: string): void {
  const [from, to] = [join(project, 'node_modules'), join(folder, 'node_modules')];
  for (const name of readdirSync(from).filter((fileName) => !/^\.|^ledger-indexer/.test(fileName))) {
    if (!name.startsWith('@')) symlinkSync(join(from, name), join(to, name));
    else {
      mkdirSync(join(to, name));
      for (const scoped of readdirSync(join(from, name))) symlinkSync(join(from, name, scoped), join(to, name, scoped));
    }
  }
}

/** Returns a file of the page by the comment before its block. @throws Error if it has more than 60 lines */
export function fileOfPage(name: string): string {
  const page = readFileSync(join(project, 'docs/how-to/integrate/typescript.md'), 'utf8');
  const [, text = ''] = new RegExp(`<!-- ${name} -->\\n\\n\`\`\`ts\\n([^]*?)\`\`\``).exec(page) ?? [];
  if (text === '' || text.split('\n').length > 60)
    throw new Error(`docs/how-to/integrate/typescript.md has no ${name} of at most 60 lines`);
  return text;
}

const compilerOptions = {
  target: 'ES2023',
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: true,
};

/** Writes the sources of the page and the settings of the compiler. */
export async function writeApp(folder: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts', 'client.ts'] }));
  for (const name of ['app.ts', 'client.ts']) await writeFile(join(folder, name), fileOfPage(name));
}

/** Runs a file until its output matches, then ends it. Resolves to its complete output, also if it ends earlier. */
export function printedUntil(
  folder: string,
  file: string,
  env: NodeJS.ProcessEnv,
  expected: RegExp,
  onText: (text: string) => void,
): Promise<string> {
  const child = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...env, PATH: process.env['PATH'] },
    timeout: 60_000,
  });
  let text = '';
  const appendText = (more: string): void => {
    text += more;
    onText(text);
    if (expected.test(text)) child.kill();
  };
  child.stdout.setEncoding('utf8').on('data', appendText);
  child.stderr.setEncoding('utf8').on('data', appendText);
  return new Promise((resolve) => child.once('close', () => resolve(text)));
}
