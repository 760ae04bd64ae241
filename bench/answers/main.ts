/**
 * `npm run bench:answers`: measures how long every documented question takes on a long history. See bench/README.md.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { collectStatements } from './statements/collect.ts';
import { countHistory, fillHistory } from './fill.ts';
import { findHistory, openFolder, writeNote, type HistoryNote } from './history-folder.ts';
import { runStatement, type Execution } from './measure.ts';
import { help, readAnswersOptions, type AnswersOptions } from './options.ts';
import { answersJson, answersTable, type AnswersReport } from './report.ts';
import { createReader, migrateDatabase, readerUrl, startServer, type AnswersServer } from './server.ts';
import { labelOf, type Statement } from './statements/statement.ts';
import { followTable, measureFollowing } from './follow.ts';
import { measurePaced, pacedTable } from './paced-rounds.ts';
import { fillProjections, removeProjections, type FilledProjection } from './projections.ts';
import { isEnding, runToEnd } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { prepareOutputs } from '../indexer-process.ts';
import { withClient } from '../postgres.ts';

interface Prepared {
  readonly folder: string;
  readonly server: AnswersServer;
  readonly note: HistoryNote;
  readonly password: string;
  readonly projections: readonly FilledProjection[];
}

/** Starts Postgres with a filled database of this version, and creates the reader. */
async function prepare({ keep, updates, projections }: AnswersOptions): Promise<Prepared> {
  const folder = openFolder(keep);
  const found = findHistory(folder, updates);
  printStatus('starting Postgres');
  const server = await startServer(folder);
  await migrateDatabase(server.url);
  const note = found ?? (await fill(folder, server, updates));
  printStatus(projections === 'off' ? 'removing projections' : 'filling projections');
  if (projections === 'off') await removeProjections(server.url);
  const filled = projections === 'off' ? [] : await fillProjections(server.url);
  return { folder, server, note, password: await createReader(server.url, folder), projections: filled };
}

async function fill(folder: string, { url }: AnswersServer, updates: number): Promise<HistoryNote> {
  const begun = { updates, commit: measuredCommit() };
  writeNote(folder, begun);
  const updatesPerSecond = Math.round(updates / (await fillHistory(url, { updates, projections: 'off' })));
  const note = { ...begun, filledAt: new Date().toISOString(), updatesPerSecond };
  writeNote(folder, note);
  return note;
}

/** Runs all statements once, one after the other. */
async function runAll(
  statements: readonly Statement[],
  { server, password }: Prepared,
  { limitSeconds }: AnswersOptions,
  pass: string,
): Promise<readonly Execution[]> {
  return withClient(server.url, async (admin) => {
    const sessions = { readerUrl: readerUrl(server.url, password), ownerUrl: server.url, limitSeconds, admin };
    const executions: Execution[] = [];
    for (const [at, statement] of statements.entries()) {
      if (isEnding()) break;
      printStatus(`${pass} ${String(at + 1)}/${String(statements.length)} ${labelOf(statement)}`);
      executions.push(await runStatement(statement, sessions));
    }
    return executions;
  });
}

/** Restarts Postgres and runs the cold pass, unless it is skipped; then runs the warm pass. */
async function measure(prepared: Prepared, options: AnswersOptions): Promise<AnswersReport> {
  const { note, server, password } = prepared;
  const counts = await withClient(server.url, countHistory);
  const { statements, leftOut, ends } = await collectStatements(server.url, readerUrl(server.url, password));
  const { only } = options;
  const selected = statements.filter((one) => only === undefined || labelOf(one).includes(only));
  if (selected.length === 0) throw new Error(`--only ${only ?? ''}: no statement contains this text`);
  let current = prepared;
  let cold: readonly Execution[] | undefined;
  if (!options.skipCold) {
    printStatus('restarting Postgres');
    await server.stop();
    current = { ...prepared, server: await startServer(prepared.folder) };
    cold = await runAll(selected, current, options, 'cold');
  }
  const warm = await runAll(selected, current, options, 'warm');
  const answers = warm.flatMap((execution, at) => {
    const statement = selected[at];
    return statement === undefined ? [] : [{ statement, cold: cold?.[at], warm: execution }];
  });
  const [cpu] = cpus();
  return {
    ...counts,
    commit: measuredCommit(),
    machine: `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}, Postgres ${server.version}`,
    filledAt: note.filledAt ?? '',
    fillUpdatesPerSecond: note.updatesPerSecond,
    newestUpdate: ends.newestTime.toISOString(),
    projections: prepared.projections,
    answers,
    leftOut,
  };
}

/** The commit of this folder, with `-modified` if it has changes. */
function measuredCommit(): string {
  const git = (...args: string[]): string => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
  const commit = git('rev-parse', '--short=12', 'HEAD');
  return git('status', '--porcelain', '--', 'src', 'migrations') === '' ? commit : `${commit}-modified`;
}

/** Statements select the last minutes, hours or day, so an old history makes some of them faster. */
const oldHours = 1;

function warnIfOld(newestUpdate: string): void {
  const hours = (Date.now() - Date.parse(newestUpdate)) / 3_600_000;
  if (hours < oldHours) return;
  process.stderr.write(
    `bench: the newest update is ${hours.toFixed(1)} hours old, so statements about the last hours return fewer rows\n`,
  );
}

/** Compares the stream with two sets of projections, at full speed or at a given pace. */
async function compareFollowing(options: AnswersOptions): Promise<void> {
  const { pace, json } = options;
  const write = (report: object, table: string): void => {
    printStatus('');
    process.stdout.write(`${table}\n`);
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  };
  if (pace === undefined) {
    const report = await measureFollowing(options);
    return write(report, followTable(report));
  }
  const report = await measurePaced(options, pace);
  write(report, pacedTable(report));
}

async function main(): Promise<void> {
  const options = readAnswersOptions(process.argv.slice(2));
  if (options === undefined) return void process.stdout.write(help);
  prepareOutputs();
  if (options.followRounds > 0) return await compareFollowing(options);
  const report = await measure(await prepare(options), options);
  if (isEnding()) return;
  printStatus('');
  warnIfOld(report.newestUpdate);
  process.stdout.write(`${answersTable(report)}\n`);
  if (options.json !== undefined) writeFileSync(options.json, answersJson(report));
}

await runToEnd('bench:answers', main);
