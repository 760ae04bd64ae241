/** The programs of a packaged Postgres: npm installs the server, but not the programs that back it up. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const packages = '/usr/lib/postgresql';
const neededPrograms = [
  'initdb',
  'postgres',
  'psql',
  'pg_basebackup',
  'pg_dump',
  'pg_dumpall',
  'pg_restore',
  'vacuumdb',
];

/** Folders with all programs, the newest version first. */
const folders = (existsSync(packages) ? readdirSync(packages) : [])
  .toSorted((a, b) => Number(b) - Number(a))
  .map((version) => join(packages, version, 'bin'))
  .filter((folder) => neededPrograms.every((program) => existsSync(join(folder, program))));

/** The folder with the programs; `/` if no package is installed. */
export const programFolder = folders[0] ?? '/';

export const programsSkipReason =
  folders.length > 0 ? undefined : 'needs a packaged Postgres with its programs (apt-get install postgresql)';
