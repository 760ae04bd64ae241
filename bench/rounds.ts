/** One profile: its recordings and the reference run, then rounds that measure everything in turn. */
import { join } from 'node:path';
import { runBaseline, stageBaseline, type BaselineRows } from './baselines/baseline.ts';
import { exportRows, forgetRows, runCeiling, type ReferenceRows } from './baselines/ceiling.ts';
import { pqsLayout } from './baselines/pqs-layout.ts';
import { rawJson } from './baselines/raw-json.ts';
import { summaryOf } from './figures/cpu-profile.ts';
import { figureOf } from './figures/figures.ts';
import { runIngest, type IngestOptions } from './ingest.ts';
import { compareWithKnown } from './figures/known-digest.ts';
import { runLatency } from './latency.ts';
import type { Measure } from './options.ts';
import { expectedAfter, type Profile } from './replay/profiles.ts';
import { activeContractsRecording, format, updatesRecording, type Recording } from './replay/recording.ts';
import { runSeed } from './seed.ts';
import { lineOf, recordFigure, plainVariant, variantsOf, type Session } from './session.ts';
import { printStatus } from './figures/terminal.ts';
import { runToy } from './toy-run.ts';

export const paceRates: readonly number[] = [500, 100, 3_000];

interface Job {
  readonly session: Session;
  readonly profile: Profile;
  readonly transactions: number;
  readonly measures: ReadonlySet<Measure>;
}

interface Source {
  readonly recording: Recording;
  readonly rows: ReferenceRows | undefined;
  readonly baselines: readonly BaselineRows[];
}

/** Number of transactions in each stream of a profile. */
export function transactionsOf({ options }: Session, profile: Profile): number {
  return options.transactions ?? (options.quick ? profile.quickTransactions : profile.transactions);
}

/** Runs all measurements in rounds. If there are several servers, each round measures every server once. */
export async function runRounds(
  sessions: readonly Session[],
  profile: Profile,
  measures: ReadonlySet<Measure>,
  rounds: number,
): Promise<void> {
  const preparedRounds: PreparedRound[] = [];
  for (const session of sessions) preparedRounds.push(await prepare(session, profile, measures));
  for (let round = 0; round < rounds; round += 1)
    for (const preparedRound of preparedRounds) await runRound(preparedRound, round);
  for (const round of preparedRounds) await finish(round);
}

interface PreparedRound {
  readonly job: Job;
  readonly updates: Source | undefined;
  readonly seeds: Source | undefined;
}

async function prepare(session: Session, profile: Profile, measures: ReadonlySet<Measure>): Promise<PreparedRound> {
  const job: Job = { session, profile, measures, transactions: transactionsOf(session, profile) };
  const streamed = ['ingest', 'baselines', 'toy', 'latency'].some((measure) => measures.has(measure as Measure));
  const updates = streamed ? await updatesSource(job) : undefined;
  const seeds = measures.has('seed') ? await seedSource(job) : undefined;
  return { job, updates, seeds };
}

async function runRound({ job, updates, seeds }: PreparedRound, round: number): Promise<void> {
  const { measures } = job;
  if (updates !== undefined && measures.has('ingest')) await ingestRound(job, updates, round);
  if (updates !== undefined) await baselineRound(job, updates);
  if (seeds !== undefined) await seedRound(job, seeds);
  if (updates !== undefined && measures.has('toy')) await toyRound(job, updates);
  if (updates !== undefined && measures.has('latency')) await latencyRound(job, updates);
}

async function finish({ job, updates, seeds }: PreparedRound): Promise<void> {
  if (job.session.options.profileCpu && updates !== undefined) await profiledRun(job, updates);
  for (const source of [updates, seeds]) if (source?.rows !== undefined) forgetRows(source.rows);
  for (const rows of updates?.baselines ?? []) await rows.forget();
}

function ingestOptions({ session, profile, transactions }: Job, { recording, rows }: Source): IngestOptions {
  const { options, server } = session;
  return {
    server,
    profile,
    recording,
    transactions,
    variant: plainVariant(options),
    unchecked: !options.check,
    ...(rows === undefined ? {} : { reference: rows.digest }),
  };
}

/** The frames, and the rows of a first run, which is not counted and must be correct. */
async function updatesSource(job: Job): Promise<Source> {
  const { session, profile, transactions } = job;
  const { cache: folder, ceiling } = session.options;
  const peakPace = job.measures.has('latency') ? Math.max(...paceRates) * (session.options.latencySeconds + 2) : 0;
  // As long as any measurement needs, because a longer stream would be recorded from the beginning.
  const memoryUpdates = job.measures.has('memory')
    ? (session.options.transactions ?? session.options.memoryTransactions)
    : 0;
  const recording = updatesRecording({
    folder,
    profile,
    count: Math.max(transactions, peakPace, memoryUpdates),
    say: printStatus,
  });
  const source: Source = { recording, rows: undefined, baselines: [] };
  const hasCeiling = job.measures.has('ingest') && ceiling;
  const layouts = job.measures.has('baselines') ? [pqsLayout, rawJson] : [];
  if (!hasCeiling && layouts.length === 0) return source;
  printStatus(`${profile.name}: reference run`);
  const keptReferences: ReferenceRows[] = [];
  const baselines: BaselineRows[] = [];
  const expected = expectedAfter(profile, transactions);
  const run = await runIngest({ ...ingestOptions(job, source), unchecked: false }, async (database) => {
    if (hasCeiling) keptReferences.push(await exportRows(database, expected.events));
    for (const layout of layouts) {
      printStatus(`${profile.name}: rows for ${layout.name}`);
      baselines.push(await stageBaseline(layout, database, { recording, expected }));
    }
  });
  if (run.error !== undefined) throw new Error(`${profile.name}, reference: ${run.error}`);
  const [rows] = keptReferences;
  return { recording, rows: hasCeiling ? await acceptRound(job, 'updates', run.error, rows) : undefined, baselines };
}

async function seedSource(job: Job): Promise<Source> {
  const { session, profile, transactions } = job;
  const { cache: folder, ceiling } = session.options;
  const recording = activeContractsRecording({ folder, profile, count: transactions, say: printStatus });
  if (!ceiling) return { recording, rows: undefined, baselines: [] };
  printStatus(`${profile.name}: reference seed`);
  const keptReferences: ReferenceRows[] = [];
  const { server } = session;
  const variant = plainVariant(session.options);
  const run = await runSeed({ server, recording, contracts: transactions, variant }, async (database) => {
    keptReferences.push(await exportRows(database, transactions));
  });
  return { recording, rows: await acceptRound(job, 'active-contracts', run.error, keptReferences[0]), baselines: [] };
}

/** Accepts the reference. If it is wrong, the complete call fails, because every ratio depends on it. */
async function acceptRound(job: Job, name: string, error: string | undefined, rows: ReferenceRows | undefined) {
  const { session, profile, transactions } = job;
  if (error !== undefined || rows === undefined) throw new Error(`${profile.name}, reference: ${error ?? 'no rows'}`);
  const key = `${name}-${profile.name}-${String(transactions)}-v${String(format)}`;
  const digestDifference = await compareWithKnown(session.options.cache, key, rows.digest, session.server.version);
  if (digestDifference !== undefined) session.errors.push(`${profile.name}, reference: ${digestDifference}`);
  return rows;
}

async function ceilings({ session, profile }: Job, rows: ReferenceRows | undefined, prefix: string): Promise<void> {
  if (rows === undefined) return;
  for (const lanes of [1, 2] as const) {
    await recordFigure(session, profile.name, ceilingName(prefix, lanes), async () => {
      const run = await runCeiling(session.server, rows, lanes);
      return figureOf(run, rows.events);
    });
  }
}

/** Name of a line for a ceiling; `prefix` is empty for the update stream. */
export function ceilingName(prefix: string, lanes: 1 | 2): string {
  return `${prefix}COPY${lanes === 2 ? ', 2 connections' : ''}`;
}

/** Every second round runs the variants in reverse, because a run is slower or faster for what ran just before it. */
async function ingestRound(job: Job, source: Source, round: number): Promise<void> {
  const { session, profile } = job;
  await ceilings(job, source.rows, '');
  const variants = variantsOf(session.options);
  for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
    await recordFigure(session, profile.name, variant.name, async () => {
      const run = await runIngest({ ...ingestOptions(job, source), variant, weigh: 'settled' });
      return figureOf(run, run.events, run.steady);
    });
  }
}

async function baselineRound({ session, profile }: Job, { baselines }: Source): Promise<void> {
  for (const rows of baselines) {
    await recordFigure(session, profile.name, rows.baseline.name, async () => {
      return figureOf(await runBaseline(session.server, rows, 'settled'), rows.events);
    });
  }
}

async function seedRound(job: Job, { recording, rows }: Source): Promise<void> {
  const { session, profile, transactions: contracts } = job;
  const { server, options } = session;
  await ceilings(job, rows, 'seed: ');
  await recordFigure(session, profile.name, 'seed', async () => {
    const reference = rows === undefined ? {} : { reference: rows.digest };
    const run = await runSeed({ server, recording, contracts, variant: plainVariant(options), ...reference });
    return figureOf(run, run.events);
  });
}

async function toyRound({ session, profile, transactions }: Job, { recording }: Source): Promise<void> {
  const { server, options } = session;
  await recordFigure(session, profile.name, 'toy', async () => {
    const run = await runToy({ server, profile, recording, transactions, seconds: options.toySeconds });
    return { rate: run.events / run.seconds };
  });
}

async function latencyRound({ session, profile }: Job, { recording }: Source): Promise<void> {
  const { server, options } = session;
  const { latencySeconds: seconds, pollPauseMs } = options;
  for (const updatesPerSecond of paceRates.toSorted((a, b) => a - b)) {
    printStatus(`${profile.name}: latency at ${String(updatesPerSecond)} updates/s`);
    let line = session.latencies.find(
      (reference) => reference.profile === profile.name && reference.updatesPerSecond === updatesPerSecond,
    );
    if (line === undefined) session.latencies.push((line = { profile: profile.name, updatesPerSecond, runs: [] }));
    const variant = plainVariant(options);
    line.runs.push(await runLatency({ server, profile, recording, variant, updatesPerSecond, seconds, pollPauseMs }));
  }
}

/** Runs in addition to the rounds, because a profiled process is slower. */
async function profiledRun(job: Job, source: Source): Promise<void> {
  const { session, profile } = job;
  const cpuProfile = join(session.options.cache, '..', `${profile.name}.cpuprofile`);
  printStatus(`${profile.name}: CPU profile`);
  const run = await runIngest({ ...ingestOptions(job, source), cpuProfile });
  lineOf(session, profile.name, 'ingest, profiled').figures.push(figureOf(run, run.events, run.steady));
  session.notes.push(`${profile.name}: CPU profile in ${cpuProfile}\n${summaryOf(cpuProfile, run.events)}`);
}
