/**
 * `npm run bench`: measures the speed of the indexer, compared with Postgres that loads the same rows. See
 * bench/README.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { isEnding, runToEnd } from './cleanup.ts';
import { runGrowth } from './growth/growth.ts';
import { prepareOutputs } from './indexer-process.ts';
import { runMemories } from './memory.ts';
import { help, readOptions, type Measure, type Options } from './options.ts';
import { openServer } from './postgres.ts';
import { reportOf, writeJson } from './figures/report.ts';
import { runRounds } from './rounds.ts';
import { sharesOf, shareTable } from './figures/shares.ts';
import type { Session } from './session.ts';
import { printStatus } from './figures/terminal.ts';

/** Maximum number of rounds of the profiles after the first one. */
const furtherRounds = { quick: 1, full: 3 } as const;

function machineText(): string {
  const [cpu] = cpus();
  const memory = `${String(Math.round(totalmem() / 2 ** 30))} GiB`;
  return `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, ${memory}, Node ${process.version}, ${commit()}`;
}

function commit(): string {
  try {
    const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8', stdio: 'pipe' }).trim();
    const gitStatus = git('status', '--porcelain', 'src', 'migrations') === '' ? '' : ' with changes';
    return `commit ${git('rev-parse', '--short', 'HEAD')}${gitStatus}`;
  } catch {
    return 'no commit';
  }
}

async function openSession(options: Options, url: string | undefined): Promise<Session> {
  const server = await openServer({
    url,
    folder: dirname(options.cache),
    settings: options.settings,
  });
  return { options, server, lines: [], latencies: [], memories: [], errors: [], notes: [] };
}

/** @param sessions one per server; everything is measured on the first server */
async function measure(sessions: readonly [Session, ...Session[]]): Promise<void> {
  const [session] = sessions;
  const { options } = session;
  for (const [index, profile] of options.profiles.entries()) {
    const isFullRun = index === 0 || options.everywhere;
    const measures = isFullRun ? options.measures : ingestOnly(options.measures);
    const rounds = isFullRun
      ? options.rounds
      : Math.min(options.rounds, furtherRounds[options.quick ? 'quick' : 'full']);
    await runRounds(sessions, profile, measures, rounds);
    if (measures.has('memory')) await runMemories(session, profile);
    if (measures.has('growth')) await runGrowth(session, profile);
  }
}

function ingestOnly(measures: ReadonlySet<Measure>): ReadonlySet<Measure> {
  return new Set<Measure>(measures.has('ingest') ? ['ingest'] : []);
}

/** If a measurement fails, reports the results so far. */
async function measureUntilInterrupted(sessions: readonly [Session, ...Session[]]): Promise<void> {
  try {
    await measure(sessions);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    sessions[0].errors.push(`ended early: ${reason}`);
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(help);
    return;
  }
  prepareOutputs();
  mkdirSync(options.cache, { recursive: true });
  printStatus('starting Postgres');
  const session = await openSession(options, options.databaseUrl);
  const second = options.secondUrl === undefined ? undefined : await openSession(options, options.secondUrl);
  await measureUntilInterrupted(second === undefined ? [session] : [session, second]);
  if (isEnding()) return;
  printStatus('');
  const machine = machineText();
  const shares = second === undefined ? [] : sharesOf(session, second);
  for (const benchSession of [session, second])
    if (benchSession !== undefined) process.stdout.write(`${reportOf(benchSession, machine)}\n\n`);
  if (second !== undefined) process.stdout.write(`${shareTable(session, second, shares)}\n`);
  if (options.json !== undefined) writeJson(options.json, session, machine, second, shares);
  const lowShares = shares.filter(({ share }) => !(share >= options.leastShare));
  if (lowShares.length + session.errors.length + (second?.errors.length ?? 0) > 0) process.exitCode = 1;
}

process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);
await runToEnd('bench', main);
