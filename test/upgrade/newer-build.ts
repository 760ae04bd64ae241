/**
 * A newer version for the upgrade tests: a copy of the current build with one more migration, a view that has another
 * column, and a version of its own. When the current build has migrations of its own that the recording lacks, the
 * additional one is no longer needed.
 */
import {
  cpSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** npm and Vitest run in the folder of the project. */
const project = process.cwd();
export const newerVersion = '1.1.0';

/** Replaced texts of files of the build. Each text has to occur exactly once. */
const changes: readonly (readonly [file: string, text: string, replacement: string])[] = [
  [
    'package.json',
    /"version": "[^"]*"/.exec(readFileSync(join(project, 'package.json'), 'utf8'))?.[0] ?? '',
    `"version": "${newerVersion}"`,
  ],
  [
    'dist/store/tables/labels.js',
    'export const labelTables = {',
    `export const labelTables = {\n    update_totals: { nodes: 'coordinator', limited: 'all' },`,
  ],
  [
    'migrations/read/12_participants.sql',
    'p.offset_shift, p.reason, p.since\n',
    'p.offset_shift, p.reason, p.since, (select sum(t.updates) from update_totals t) as updates_before_upgrade\n',
  ],
  [
    'migrations/read/12_participants.sql',
    's.checkpoint, 0, null, null\n',
    's.checkpoint, 0, null, null, (select sum(t.updates) from update_totals t)\n',
  ],
];

export interface NewerBuild extends Disposable {
  /** Path of its `dist/main.js`. */
  readonly program: string;
  /** Folder of its migrations. */
  readonly migrations: string;
  /** Id of the additional migration. */
  readonly migration: string;
}

/** Creates the newer version in a temporary folder. */
export function createNewerBuild(): NewerBuild {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-newer-'));
  const copy = (name: string): void =>
    cpSync(join(project, name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.d.ts'),
    });
  for (const name of ['dist', 'migrations', 'package.json', 'scripts/requirements.cjs', 'packages/page/src'])
    copy(name);
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
  for (const change of changes) replaceOnce(folder, ...change);
  const migrations = join(folder, 'migrations');
  const migration = `${nextNumber(migrations)}_of_the_upgrade_test`;
  copyFileSync(join(project, 'test/upgrade/newer/migration.sql'), join(migrations, `${migration}.sql`));
  return {
    program: join(folder, 'dist/main.js'),
    migrations,
    migration,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function nextNumber(migrations: string): string {
  const numbers = readdirSync(migrations).map((name) => Number(/^(\d{4})_/.exec(name)?.[1] ?? 0));
  return String(Math.max(...numbers) + 1).padStart(4, '0');
}

/** @throws Error if the text does not occur exactly once, because a file of the build has changed */
function replaceOnce(folder: string, file: string, text: string, replacement: string): void {
  const parts = readFileSync(join(folder, file), 'utf8').split(text);
  if (parts.length !== 2) throw new Error(`the text is ${parts.length - 1} times in ${file}: ${text}`);
  mkdirSync(join(folder, file, '..'), { recursive: true });
  writeFileSync(join(folder, file), parts.join(replacement));
}
