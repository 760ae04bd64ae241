/**
 * `npm run bench:reads`: measures response times of readers over one and a half million contracts. See bench/README.md.
 */
import { cpus } from 'node:os';
import type { Client } from 'pg';
import { isEnding, onExit, runToEnd } from './cleanup.ts';
import { prepareOutputs } from './indexer-process.ts';
import { connect, migrateSchema, openServer } from './postgres.ts';
import { fill, settle } from './reads/fill.ts';
import { measureQuery, type ReadFigure } from './reads/measure.ts';
import { help, readReadOptions, type ReadOptions } from './reads/options.ts';
import { readQueries, type ReadQuery } from './reads/queries.ts';
import { labelOf, readTable, writeReadJson } from './reads/report.ts';
import { makeTypedView } from './reads/typed.ts';
import { printStatus } from './figures/terminal.ts';

interface PreparedReads {
  readonly client: Client;
  readonly typedView: string | undefined;
  readonly version: string;
}

/**
 * The index that the documentation recommends, with statistics of its own for the expression, because Postgres collects
 * none for a partial index.
 */
const payloadIndex = [
  `create index contracts_account on contracts ((payload ->> 'account')) where (payload ->> 'account') is not null`,
  `create statistics contracts_account_values on (payload ->> 'account') from contracts`,
];

async function prepare(options: ReadOptions): Promise<PreparedReads> {
  prepareOutputs();
  printStatus('starting Postgres');
  const { databaseUrl: url, folder, settings } = options;
  const server = await openServer({ url, folder, settings });
  const database = await migrateSchema(await server.createDatabase());
  const client = await connect(database.url);
  onExit(() => client.end());
  await fill(client, options.contracts, options.spread);
  for (const statement of payloadIndex) await client.query(statement);
  await settle(client);
  const typedView = await makeTypedView(database.url);
  return { client, typedView, version: `${server.version}${server.settings === '' ? '' : ` (${server.settings})`}` };
}

/**
 * Measures all queries. A query that the server rejects, or that returns wrong rows, is an error of the run and does
 * not stop the others.
 */
async function measureAll(
  client: Client,
  queries: readonly ReadQuery[],
  options: ReadOptions,
  errors: string[],
): Promise<readonly ReadFigure[]> {
  const figures: ReadFigure[] = [];
  for (const query of queries) {
    const queryLabel = labelOf(query);
    if (options.only !== undefined && !queryLabel.includes(options.only)) continue;
    printStatus(queryLabel);
    try {
      figures.push(await measureQuery(client, query, options));
    } catch (error) {
      if (isEnding()) break;
      errors.push(`${queryLabel}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return figures;
}

function titleOf({ contracts, rounds, spread: historySpread }: ReadOptions, version: string): string {
  const [cpu] = cpus();
  const machine = `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}, Postgres ${version}`;
  return `${String(contracts)} contracts of one template (${historySpread}), ${String(rounds)} rounds; ${machine}`;
}

async function main(): Promise<void> {
  const options = readReadOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(help);
    return;
  }
  const { client, typedView, version } = await prepare(options);
  const errors: string[] = [];
  // As in a session of a reader, without the writer's settings.
  await client.query('reset all');
  await client.query('set search_path = ledger');
  const queries = await readQueries(client, typedView);
  const figures = await measureAll(client, queries, options, errors);
  if (isEnding()) return;
  printStatus('');
  const report = { title: titleOf(options, version), figures, errors };
  process.stdout.write(`${readTable(report)}\n`);
  if (options.plans) {
    for (const { query, plan } of figures) process.stdout.write(`\n${labelOf(query)}\n${query.text}\n${plan}\n`);
  }
  if (options.json !== undefined) writeReadJson(options.json, report);
  if (errors.length > 0) process.exitCode = 1;
}

await runToEnd('bench:reads', main);
