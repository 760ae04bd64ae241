/**
 * Reads the active contracts at one stored offset, in bounded transactions. A last transaction publishes them once the
 * list is verified to be complete. An interrupted seed continues after the last committed continuation token, or starts
 * over.
 */
import { concatMap, defer, finalize, firstValueFrom, last, repeat, takeWhile, type Observable } from 'rxjs';
import { pause } from '../config/pause.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import { activeContractsRequest } from '../ledger/api/request-format.ts';
import { ledgerError } from '../ledger/errors/make-ledger-error.ts';
import { listSource } from '../ledger/api/release.ts';
import { decodeActiveContract } from '../ledger/frames/decode.ts';
import type { Batch } from '../model/batch.ts';
import type { UpdateMark } from '../model/stream.ts';
import type { ActiveContractEntry } from '../model/update.ts';
import { stringOf, type Text } from '../model/utf8.ts';
import { takeAt, withRange, type OffsetRange } from './retry/isolate-failing-update.ts';
import { buildBatch, factsOf, type Built } from './intake/batch-builder.ts';
import { namingEntry } from './follow/follow-errors.ts';
import { frames$, type Frames } from './intake/frames.ts';
import { sessionRelease } from './proof/session-release.ts';
import { judgedRefusal } from './proof/in-flight.ts';
import { type EndedList, type ListQuestions, ListTally, unproven } from './proof/list-proof.ts';
import type { PipelineParts } from './ports/parts.ts';
import type { SinkSession } from './ports/sink.ts';
import { textOf, type KeptFrame } from './intake/frame-memory.ts';
import { tracedSeed$, type BatchSpan } from './ports/tracer.ts';
import { updateIdAt } from './proof/update-id.ts';
import { WriteQueue } from './follow/write-queue.ts';

/** Errors after which the stored token or offset cannot be used any more. */
const startOver: ReadonlySet<string> = new Set([
  'LEDGER_CONTINUATION_TOKEN_INVALID',
  'LEDGER_PRUNED',
  'LEDGER_OFFSET_AFTER_END',
]);

const path = '/v2/state/active-contracts';

interface SeedPlan {
  readonly offset: number;
  readonly token: string | undefined;
  readonly written: number;
}

interface SeedRun {
  /** Set if contracts that are missing from the list will be ended. */
  readonly strict?: true;
  /** Range of entry numbers that are written one by one, because Postgres rejected them as a batch. */
  readonly apart: OffsetRange;
  /** Called when entries were stored that no later session has to read again. */
  onProgress(): void;
}

type RunningSeed = SeedPlan & SeedRun & { readonly read: ListTally };

/** An offset, or a function that reads the ledger end just before the request, because other offsets may be refused. */
export type SeedAt = number | (() => Promise<number>);

/** Emits the seed offset once published, undefined when a stop was requested. */
export function seed$(
  parts: PipelineParts,
  session: SinkSession,
  at: SeedAt,
  run: SeedRun,
): Observable<number | undefined> {
  const seed$ = defer(() => plan(parts, session, at)).pipe(
    concatMap((seed) =>
      frames$(parts, path, requestOf(parts, seed)).pipe(
        concatMap((frames) => {
          const read = new ListTally(seed.token);
          return entries$(parts, session, { ...seed, ...run, read }, frames);
        }),
      ),
    ),
  );
  return tracedSeed$(parts.tracer, seed$);
}

/**
 * Starts without active contracts: history is followed from a given offset. Resolves to that offset.
 * @throws IndexerError LEDGER_PRUNED when the participant has pruned that offset; then nothing is written
 */
export async function skipSeed(parts: PipelineParts, session: SinkSession, pruned: number): Promise<number> {
  const start = parts.start === 'whole' ? 'genesis' : parts.start;
  const offset = typeof start === 'number' ? start : start === 'oldest' ? pruned : 0;
  if (offset < pruned) throw beginsPruned(start, pruned);
  await session.beginSeed(offset);
  await session.publishSeed(offset, typeof start === 'number' ? 'offset' : start);
  return offset;
}

function beginsPruned(start: string | number, pruned: number): IndexerError {
  const beginning = typeof start === 'number' ? `offset ${String(start)}` : `the ${start}`;
  return new IndexerError(`history was to begin at ${beginning}, the participant is pruned up to ${String(pruned)}`, {
    code: 'LEDGER_PRUNED',
    remedy:
      `set INDEXER_START=oldest (backfill --from oldest) for the history of the participant, which begins after ${String(pruned)}; or INDEXER_START=seed for ` +
      'the active contracts and later updates',
    facts: { earliestOffset: pruned },
  });
}

async function plan({ release, observers }: PipelineParts, session: SinkSession, at: SeedAt): Promise<SeedPlan> {
  const { seedOffset, seedToken, seedContracts, seedRelease } = session.state;
  const source = listSource(release);
  if (seedOffset !== null && seedToken !== null) {
    if (seedRelease === source.release) return { offset: seedOffset, token: seedToken, written: seedContracts };
    const cut = { seedRelease, offset: seedOffset, contracts: seedContracts };
    observers.release.found({ kind: 'other', version: release.version, ...cut });
  }
  const offset = typeof at === 'number' ? at : await at();
  await session.beginSeed(offset, source);
  return { offset, token: undefined, written: 0 };
}

function requestOf(parts: PipelineParts, seed: SeedPlan): object {
  return activeContractsRequest(seed.offset, parts.filter, parts.release, seed.token);
}

function entries$(
  parts: PipelineParts,
  session: SinkSession,
  seed: RunningSeed,
  frames: Frames,
): Observable<number | undefined> {
  let written = seed.written;
  const writes = new WriteQueue(parts.limits.writeConcurrency);
  const { observers } = parts;
  const step = async (): Promise<'more' | 'stopped' | 'complete'> => {
    observers.stream.busyWith('source');
    const taken = await writes.orFailure(takeEntries(parts, session, { ...seed, written }, frames, writes));
    if (taken.length === 0) {
      observers.stream.busyWith('database');
      await writes.drain();
      return frames.inbox.stopped ? 'stopped' : 'complete';
    }
    observers.stream.busyWith('decode');
    const span = parts.tracer?.batch('active_contracts', seed.offset);
    const built = await buildEntries(parts, session, { ...seed, written, taken, span });
    frames.release(taken);
    observers.stream.busyWith('database');
    await writes.room();
    const before = written;
    written += built.batch.entries;
    span?.writing(writes.underWay);
    writes.add((predecessor) => writeEntries(parts, session, seed, { ...built, before, predecessor, span }));
    return 'more';
  };
  return defer(step).pipe(
    repeat(),
    takeWhile((state) => state === 'more', true),
    last(),
    concatMap(async (state) => {
      if (state === 'stopped') return undefined;
      observers.stream.busyWith('source');
      await prove(parts, session, seed);
      // A check that was stopped has verified nothing.
      if (parts.stop.aborted) return undefined;
      observers.stream.busyWith('database');
      await session.publishSeed(seed.offset, 'seed', await anchorOf(parts, session));
      observers.seed.done({ contracts: written, offset: seed.offset });
      parts.commits.reached(seed.offset);
      return seed.offset;
    }),
    finalize(() => {
      frames.close();
    }),
  );
}

/**
 * Delays between checks, milliseconds. The check is retried after transient failures, because otherwise the next
 * session would read a list without tokens again from its beginning.
 */
const proofDelaysMs: readonly number[] = [500, 1_000, 2_000, 4_000];

/** Errors about the list, and not about the connection to the ledger. */
const aboutList: ReadonlySet<string> = new Set(['LEDGER_STREAM_TRUNCATED', 'SEED_UNVERIFIED']);

/**
 * Verifies the list.
 * @throws IndexerError LEDGER_STREAM_TRUNCATED: the next session continues after the stored token, or starts over
 */
async function prove(parts: PipelineParts, session: SinkSession, seed: RunningSeed): Promise<void> {
  const { ledger, filter, release, observers, stop } = parts;
  const { offset, read, strict } = seed;
  const questions = { ledger, streamed: (request: object) => streamed(parts, request) };
  const list = { offset, filter, release, read, ...(strict === undefined ? {} : { strict }) };
  for (const delayMs of [...proofDelaysMs, undefined]) {
    const error = await doubt(parts, list, questions).catch(toIndexerError);
    if (error === undefined) return;
    if (startOver.has(error.code)) throw await overtaken(parts, session, seed, error);
    const passes = error.retry === 'retry' && !aboutList.has(error.code) && read.token === null;
    if (!passes || delayMs === undefined || stop.aborted) throw error;
    observers.stream.failed('ledger', error, delayMs);
    await pause(delayMs, stop);
  }
}

/** Why the list is rejected; undefined if it is complete and one version of the participant returned all of it. */
async function doubt(
  parts: PipelineParts,
  list: EndedList,
  questions: ListQuestions,
): Promise<IndexerError | undefined> {
  const error = await unproven(list, questions);
  if (error !== undefined) return error;
  const { version } = await sessionRelease(parts);
  const { version: before } = list.release;
  if (version === before) return undefined;
  const [from, to] = [before, version].map((one) => one ?? 'an unknown version');
  const found = `the participant was upgraded from ${String(from)} to ${String(to)} while the list was read`;
  return ledgerError('LEDGER_CONTINUATION_TOKEN_INVALID', found);
}

/** Frames of a list as text. */
async function* streamed(parts: PipelineParts, request: object): AsyncGenerator<readonly string[]> {
  const { batchUpdates, batchBytes } = parts.limits;
  const frames = await firstValueFrom(frames$(parts, path, request));
  try {
    for (;;) {
      const taken = await frames.inbox.take(batchUpdates, batchBytes);
      if (taken.length === 0) return;
      const texts = taken.map((frame) => textOf(frame).toString());
      frames.release(taken);
      yield texts;
    }
  } finally {
    frames.close();
  }
}

/**
 * The update that activated the newest contract of the seed. It is used to verify the history until another update
 * arrives. Undefined if there is none, if it is pruned, or if the ledger cannot return it now.
 */
async function anchorOf(parts: PipelineParts, session: SinkSession): Promise<UpdateMark | undefined> {
  const offset = await session.newestActivation();
  if (offset === undefined || offset === 0) return undefined;
  // An additional check, not a condition: a seed that took hours is not discarded because this update is missing.
  const updateId = await updateIdAt(parts, offset).catch(() => undefined);
  return updateId === undefined ? undefined : { offset, updateId };
}

async function takeEntries(
  parts: PipelineParts,
  session: SinkSession,
  seed: RunningSeed,
  frames: Frames,
  writes: WriteQueue,
): Promise<readonly KeptFrame[]> {
  const { batchUpdates, batchBytes } = parts.limits;
  try {
    return await frames.inbox.take(takeAt(seed.written, seed.apart, batchUpdates), batchBytes);
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!startOver.has(error.code)) throw error;
    await writes.drain();
    throw await overtaken(parts, session, seed, error);
  }
}

/** Forgets the token, so that the next session starts over at an offset that the ledger can still return. */
async function overtaken(
  { ledger, release }: PipelineParts,
  session: SinkSession,
  seed: RunningSeed,
  refusal: IndexerError,
): Promise<IndexerError> {
  await session.beginSeed(seed.offset, listSource(release));
  const cause = await judgedRefusal(refusal, seed.offset, ledger);
  if (cause.code === 'LEDGER_REASSIGNMENT_IN_FLIGHT') return cause;
  return new IndexerError(`the seed at offset ${String(seed.offset)} cannot continue: ${cause.message}`, {
    code: 'SEED_PRUNED',
    facts: { offset: seed.offset, reason: cause.code },
    cause,
  });
}

interface BuiltEntries {
  readonly batch: Batch;
  /** Contract id of the last entry; null if it has none. */
  readonly contractId: string | null;
  readonly built: Built;
}

async function buildEntries(
  { participantOffsets }: Pick<PipelineParts, 'participantOffsets'>,
  session: SinkSession,
  seed: RunningSeed & { readonly taken: readonly KeptFrame[]; readonly span: BatchSpan | undefined },
): Promise<BuiltEntries> {
  const { span } = seed;
  const batch = session.newBatch(seed.offset);
  let newest: Text | null = null;
  const built = await buildBatch(seed.taken, (frame) => {
    newest = null;
    const entry = decodeActiveContract(frame, batch.unknown);
    newest = contractIdOf(entry);
    batch.addEntry(participantOffsets?.entry(entry) ?? entry);
    // As the ledger sent it, because another reading is compared with it.
    seed.read.add(entry);
  });
  batch.seal();
  const contractId = newest === null ? null : stringOf(newest);
  span?.decoded(built.frames, built.bytes, built.error);
  if (built.error !== undefined) {
    span?.done(batch, built.error);
    throw namingEntry(built.error, { seedOffset: seed.offset, entry: seed.written + built.frames + 1, contractId });
  }
  return { batch, built, contractId };
}

function contractIdOf(entry: ActiveContractEntry): Text | null {
  if (entry.kind === 'empty') return null;
  return entry.kind === 'incomplete_assigned' ? entry.assigned.created.contractId : entry.created.contractId;
}

interface EntriesToWrite extends BuiltEntries {
  /** Number of entries stored before these. */
  readonly before: number;
  readonly predecessor: Promise<void> | undefined;
  readonly span: BatchSpan | undefined;
}

async function writeEntries(
  parts: PipelineParts,
  session: SinkSession,
  seed: RunningSeed,
  { batch, built, contractId, before, predecessor, span }: EntriesToWrite,
): Promise<void> {
  const started = performance.now();
  const rows = await session.writeSeed(batch, before, predecessor).catch(async (thrown: unknown) => {
    const range = { from: before, upTo: before + batch.entries };
    const error = withRange(toIndexerError(thrown), range);
    span?.done(batch, error);
    if (batch.entries !== 1) throw error;
    throw namingEntry(await session.explainedEntry(error), {
      seedOffset: seed.offset,
      entry: range.upTo,
      contractId,
    });
  });
  span?.done(batch);
  const { observers } = parts;
  const facts = factsOf(batch, rows, built, (performance.now() - started) / 1000);
  observers.stream.batchCommitted({ ...facts, checkpoint: undefined });
  observers.seed.progress({ contracts: before + batch.entries, offset: seed.offset });
  // Without a token the next session starts over, so this must not look like progress.
  if (batch.continuationToken !== null) seed.onProgress();
}
