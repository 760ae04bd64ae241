/** Runs the commands of docs/how-to/run/backup-and-restore.md in a shell, against servers and folders of a test. */
import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { blocksOf, pages, root } from '../docs/pages.ts';
import { programFolder } from '../support/packaged/programs.ts';
import { superuser, superuserPassword, type PackagedServer } from '../support/packaged/server.ts';

/** Password of all roles except the superuser. */
export const rolePassword = 'of a role';

const path = 'docs/how-to/run/backup-and-restore.md';
const [page] = pages().filter((candidate) => candidate.path === path);
const blocks = page === undefined ? [] : blocksOf(page);

/** The only block that contains this text. @throws Error if there is none or more than one */
function blockWith(text: string): string {
  const [block, ...others] = blocks.filter((candidate) => candidate.text.includes(text));
  if (block === undefined || others.length > 0) throw new Error(`expected one block with "${text}" in ${path}`);
  return block.text;
}

/** Parameters of Postgres in the only block that contains this text. */
export function documentedSettings(text: string, folder: string): Readonly<Record<string, string>> {
  const lines = inFolder(blockWith(text), folder).split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value = ''] = line.split(/ = (.*)/);
      return [name, value.replaceAll(/^'|'$/g, '')];
    }),
  );
}

/** The folders of the page are in the folder of the test. */
function inFolder(text: string, folder: string): string {
  return text.replaceAll(/\/var\/(?:backups|lib\/postgresql)|\/run\/secrets\/ledger/g, folder);
}

export interface PageRun {
  readonly folder: string;
  /** The server to which the programs of Postgres connect; undefined if they connect to none. */
  readonly server: PackagedServer | undefined;
  /** Replaces the URL on the page. */
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
  /** The role as which the programs of Postgres connect; the superuser if undefined. */
  readonly user?: string;
}

/** Writes the program `ledger-indexer` of the commands and the passwords into the folder. */
export async function preparePage(folder: string): Promise<void> {
  const program = join(folder, 'ledger-indexer');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/main.js')}' "$@"\n`);
  await chmod(program, 0o755);
  const passwords = `*:*:*:${superuser}:${superuserPassword}\n*:*:*:*:${rolePassword}\n`;
  await writeFile(join(folder, 'pgpass'), passwords, { mode: 0o600 });
}

/**
 * Runs the only block that contains this text. Resolves to its standard output.
 * @param change replaces a part of the block with another value that the page names
 * @throws Error with the output of the commands if one of them fails
 */
export async function runBlock(
  text: string,
  { folder, server, databaseUrl, env, user }: PageRun,
  change: readonly [from: string, to: string] = ['', ''],
): Promise<string> {
  const script = inFolder(blockWith(text), folder)
    .replaceAll(/postgres:\/\/[^\s'"]+/g, `'${databaseUrl}'`)
    .replace(...change);
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    timeout: 200_000,
    maxBuffer: 2 ** 26,
    env: {
      PATH: [folder, programFolder, process.env['PATH']].join(delimiter),
      HOME: folder,
      // Without this variable, some builds of bash assume a remote login and read the startup files of the user.
      SHLVL: '1',
      PGHOST: '127.0.0.1',
      PGPORT: String(server?.port ?? 1),
      PGUSER: user ?? superuser,
      PGPASSFILE: join(folder, 'pgpass'),
      DATABASE_URL: databaseUrl,
      ...env,
    },
  });
  return stdout;
}
