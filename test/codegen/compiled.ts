/** Compiles generated files with the strictest settings that programs use. */
import { spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const project = join(import.meta.dirname, '../..');

const compilerOptions = {
  target: 'ES2023',
  lib: ['ES2023'],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  noEmit: true,
};

/** Diagnostics of the compiler for all these files, with their names; empty if there are none. */
export async function compileErrors(
  files: Readonly<Record<string, string>>,
  overrides: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-types-'));
  try {
    symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const names = Object.keys(files);
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...overrides }, files: names }),
    );
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return await runCompiler(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function runCompiler(folder: string): Promise<string> {
  const compiler = join(project, 'node_modules/typescript/bin/tsc');
  const child = spawn(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], { timeout: 120_000 });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return new Promise((resolve) => {
    child.once('close', (code) => resolve(code === 0 ? text : `${text}(exit code ${String(code)})`));
  });
}
