/**
 * The command as installed without the optional packages: a copy of the compiled program, with symbolic links to its
 * dependencies.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linkDependencies } from './app.ts';

const project = join(import.meta.dirname, '../..');

export interface Installation extends Disposable {
  /** The folder in which the command is installed and runs. */
  readonly folder: string;
  /** Runs the command to its end. Resolves to its exit code and standard error. */
  run(
    argv: readonly string[],
    env?: NodeJS.ProcessEnv,
  ): Promise<{ readonly code: number | null; readonly text: string }>;
}

export function installCommand(): Installation {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-part-'));
  const installed = join(folder, 'node_modules/ledger-indexer');
  mkdirSync(installed, { recursive: true });
  for (const name of ['dist', 'migrations', 'scripts', 'package.json']) {
    cpSync(join(project, name), join(installed, name), { recursive: true });
  }
  linkDependencies(folder);
  return {
    folder,
    run: async (argv, env = {}) => {
      const child = spawn(process.execPath, [join(installed, 'dist/main.js'), ...argv], {
        cwd: folder,
        env: { PATH: process.env['PATH'], ...env },
      });
      let text = '';
      child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, text };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
