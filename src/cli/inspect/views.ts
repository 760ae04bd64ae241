/** `views`: lists typed views, or rebuilds them from the packages. Needs only the database. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import type { ListedView } from '../../store/typed/views.ts';
import { aligned } from '../command-line/aligned.ts';
import { json, type Command, type PrintLine } from '../command-line/command.ts';
import { withDatabase } from '../database/with-database.ts';

const openOptions = {
  command: 'views',
  remedy: 'set DATABASE_URL to the database of the views',
  connections: 4,
} as const;

export const viewsCommand: Command = {
  name: 'views',
  usage: 'list [--json] | rebuild',
  summary: 'list typed views with their columns, or rebuild all of them',
  does: ['list prints the typed views of every template and choice. rebuild creates them again from the packages.'],
  operands: [{ name: 'ACTION', words: ['list', 'rebuild'] }],
  flags: [json],
  examples: ['views list', 'views rebuild'],
  /**
   * `list` prints one line per view, or JSON with `--json`; `rebuild` replaces all views and drops none.
   * @throws IndexerError USAGE; VIEWS_REBUILD_INCOMPLETE if a view could not be replaced
   */
  run: async ({ args, env, print }) => {
    const [action] = args.operands;
    const feature = action === 'rebuild' ? 'views rebuild' : 'views list';
    await withDatabase(loadConfig(env, args.options), { ...openOptions, feature }, async (database) => {
      if (action === 'rebuild') return rebuild(database, print);
      const { listTypedViews } = await import('../../store/typed/views.ts');
      return printViews(await listTypedViews(database), args.has('json'), print);
    });
  },
};

async function rebuild(database: Database, print: PrintLine): Promise<void> {
  const { readPackages } = await import('../../store/typed/package-store.ts');
  const { syncTypedViews } = await import('../../store/typed/views.ts');
  const { made, failed } = await syncTypedViews(database, await readPackages(database), true);
  print(`replaced ${String(made.length)} views`);
  for (const { view, error } of failed) print(`not replaced: ${view}: ${error.message}`);
  const [first] = failed;
  if (first === undefined) return;
  throw new IndexerError(`${String(failed.length)} views could not be replaced`, {
    code: 'VIEWS_REBUILD_INCOMPLETE',
    exitCode: first.error.exitCode,
    remedy: first.error.remedy,
  });
}

const titles = ['VIEW', 'KIND', 'PACKAGE', 'VERSIONS', 'COLUMNS'] as const;

function printViews(views: readonly ListedView[], json: boolean, print: PrintLine): void {
  if (json) {
    for (const view of views) print(JSON.stringify(view));
    return;
  }
  if (views.length === 0) {
    print('there are no typed views yet: the indexer creates them from the packages of stored contracts');
    return;
  }
  const cells = views.map(({ view, kind, packageName, versions, columns }) => [
    view,
    kind,
    packageName,
    versions.join(' '),
    columns.join(' '),
  ]);
  for (const line of aligned([titles, ...cells])) print(line.trimEnd());
}
