/** `views`: the typed views that were made from packages; makes them anew when asked to. Needs the database only. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { readPackages } from '../../store/typed/package-store.ts';
import { listTypedViews, type ListedView } from '../../store/typed/list.ts';
import { syncTypedViews } from '../../store/typed/views.ts';
import { parse } from '../command-line/parse.ts';
import { commandNamed } from '../table/command-table.ts';
import { withDatabase } from '../database/with-database.ts';

/**
 * `views list` prints one line per view, or JSON with `--json`; `views rebuild` replaces all of them and drops nothing.
 * @throws IndexerError USAGE for anything else, VIEWS_NOT_MADE when a view could not be replaced
 */
export async function viewsCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const given = parse(commandNamed('views'), argv);
  const [action] = given.operands;
  const opening = { command: 'views', remedy: 'name the database whose views are meant', connections: 4 };
  await withDatabase(loadConfig(given.options, env), opening, async (database) => {
    if (action === 'rebuild') await rebuild(database, write);
    else show(await listTypedViews(database), given.has('json'), write);
  });
}

async function rebuild(database: Database, write: (line: string) => void): Promise<void> {
  const { made, failed } = await syncTypedViews(database, await readPackages(database), true);
  write(`replaced ${String(made.length)} views`);
  for (const { view, error } of failed) write(`not replaced: ${view}: ${error.message}`);
  const [first] = failed;
  if (first === undefined) return;
  throw new IndexerError(`${String(failed.length)} views could not be replaced`, {
    code: 'VIEWS_NOT_MADE',
    exitCode: first.error.exitCode,
    remedy: first.error.remedy,
  });
}

const titles = ['VIEW', 'KIND', 'PACKAGE', 'VERSIONS', 'COLUMNS'] as const;

function show(views: readonly ListedView[], json: boolean, write: (line: string) => void): void {
  if (json) {
    for (const view of views) write(JSON.stringify(view));
    return;
  }
  if (views.length === 0) {
    write('no typed views yet: they are made while the indexer runs, from the packages of the contracts it stores');
    return;
  }
  const lines = views.map((each) => [
    each.view,
    each.kind,
    each.packageName,
    each.versions.join(' '),
    each.columns.join(' '),
  ]);
  const widths = titles.map((title, at) => Math.max(title.length, ...lines.map((line) => line[at]?.length ?? 0)));
  for (const line of [titles, ...lines]) {
    const cells = line.map((cell, at) => (at === titles.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)));
    write(cells.join('  ').trimEnd());
  }
}
