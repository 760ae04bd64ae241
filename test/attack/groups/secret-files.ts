/** Attacks by another user who can write to the folder of a configured secret file and replaces the file. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verdict, type Attempt, type Group } from '../attempt.ts';
import { runProgram } from '../world/program.ts';

type Prepare = (path: string) => unknown;

const kinds: Readonly<Record<string, readonly [what: string, prepare: Prepare]>> = {
  pipe: ['a pipe without a writer', (path) => spawnSync('mkfifo', [path])],
  large: ['a file of 1 GiB', async (path) => writeFile(path, '').then(() => truncate(path, 1024 ** 3))],
  endless: ['a link to /dev/zero', (path) => symlink('/dev/zero', path)],
};

const limitMs = 20_000;

const attempt = (kind: string, description: string, prepare: Prepare): Attempt => ({
  id: `secret-file-${kind}`,
  what: `every file of a secret is ${description}`,
  expected: 'exit 78 at once, with the name of each option',
  run: async (world) => {
    const folder = await mkdtemp(join(world.folder, 'secret-file-'));
    const path = join(folder, 'secret');
    await prepare(path);
    const fileVariables = { DATABASE_URL_FILE: path, LEDGER_TOKEN_FILE: path, LEDGER_CA_FILE: path };
    const console = `postgres://127.0.0.1:9/ledger?sslmode=verify-full&sslrootcert=${path}`;
    const env = { ...fileVariables, INDEXER_QUERY_PAGE_DATABASE_URL: console, LEDGER_URL: 'http://127.0.0.1:9' };
    const flags = ['--max-old-space-size=384'];
    const { code, stderr } = await runProgram(['run'], { cwd: folder, env, flags }, limitMs);
    const missingVariables = [...Object.keys(fileVariables), 'INDEXER_QUERY_PAGE_DATABASE_URL'].filter(
      (name) => !stderr.includes(name),
    );
    return verdict(
      code === 78 && missingVariables.length === 0,
      `exit ${String(code)}, not named: ${missingVariables.join(', ') || 'none'}`,
    );
  },
});

export const secretFiles: Group = {
  name: 'secret-files',
  what: 'pipes, large files and devices in place of secret files',
  quick: true,
  attempts: Object.entries(kinds).map(([kind, [description, prepare]]) => attempt(kind, description, prepare)),
};
