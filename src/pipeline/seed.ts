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
import { listSourceOf } from '../ledger/api/release.ts';
import { decodeActiveContract } from '../ledger/frames/decode.ts';
import type { Batch } from '../model/batch.ts';
import type { UpdateMark } from '../model/stream.ts';
import type { ActiveContractEntry } from '../model/update.ts';
import { stringOf, type TextOrUtf8 } from '../model/utf8.ts';
import { batchSizeAt, withRange, type OffsetRange } from './retry/isolate-failing-update.ts';
import { buildBatch, batchFactsOf, type BatchResult } from './intake/batch-builder.ts';
import { withEntryContext } from './follow/follow-errors.ts';
import { frames$, type Frames } from './intake/frames.ts';
import { sessionRelease } from './proof/session-release.ts';
import { correctRefusal } from './proof/in-flight.ts';
import { type CompletedList, type ContractListReads, ListTally, findListError } from './proof/list-proof.ts';
import type { PipelineParts } from './ports/parts.ts';
import type { WriterSession } from './ports/sink.ts';
import { textOf, type StoredFrame } from './intake/frame-memory.ts';
import { tracedSeed$, type BatchSpan } from './ports/tracer.ts';
import { updateIdAt } from './proof/update-id.ts';
import { WriteQueue } from './follow/write-queue.ts';

/** Errors after which the stored token or offset cannot be used any more. */
const restartCodes: ReadonlySet<string> = new Set([
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
export type SeedOffsetSource = number | (() => Promise<number>);

/** Emits the seed offset once published, undefined when a stop was requested. */
export function seed$(
  parts: PipelineParts,
  session: WriterSession,
  offsetSource: SeedOffsetSource,
  run: SeedRun,
): Observable<number | undefined> {
  const seed$ = defer(() => plan(parts, session, offsetSource)).pipe(
    concatMap((seed) =>
      frames$(parts, path, requestOf(parts, seed)).pipe(
        concatMap((frames) => {
          const listTally = new ListTally(seed.token);
          return entries$(parts, session, { ...seed, ...run, read: listTally }, frames);
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
export async function skipSeed(parts: PipelineParts, session: WriterSession, pruned: number): Promise<number> {
  const start = parts.start === 'whole' ? 'genesis' : parts.start;
  const offset = typeof start === 'number' ? start : start === 'oldest' ? pruned : 0;
  if (offset < pruned) throw startPrunedError(start, pruned);
  await session.beginSeed(offset);
  await session.publishSeed(offset, typeof start === 'number' ? 'offset' : start);
  return offset;
}

function startPrunedError(start: string | number, pruned: number): IndexerError {
  const startText = typeof start === 'number' ? `offset ${String(start)}` : `the ${start}`;
  return new IndexerError(`history was to begin at ${startText}, the participant is pruned up to ${String(pruned)}`, {
    code: 'LEDGER_PRUNED',
    remedy:
      `set INDEXER_START=oldest (backfill --from oldest) for the history of the participant, which begins after ${String(pruned)}; or INDEXER_START=seed for ` +
      'the active contracts and later updates',
    facts: { earliestOffset: pruned },
  });
}

async function plan(
  { release, observers }: PipelineParts,
  session: WriterSession,
  offsetSource: SeedOffsetSource,
): Promise<SeedPlan> {
  const { seedOffset, seedToken, seedContracts, seedRelease } = session.state;
  const source = listSourceOf(release);
  if (seedOffset !== null && seedToken !== null) {
    if (seedRelease === source.release) return { offset: seedOffset, token: seedToken, written: seedContracts };
    const interruptedSeed = { seedRelease, offset: seedOffset, contracts: seedContracts };
    observers.release.found({ kind: 'other', version: release.version, ...interruptedSeed });
  }
  const offset = typeof offsetSource === 'number' ? offsetSource : await offsetSource();
  await session.beginSeed(offset, source);
  return { offset, token: undefined, written: 0 };
}

function requestOf(parts: PipelineParts, seed: SeedPlan): object {
  return activeContractsRequest(seed.offset, parts.filter, parts.release, seed.token);
}

function entries$(
  parts: PipelineParts,
  session: WriterSession,
  seed: RunningSeed,
  frames: Frames,
): Observable<number | undefined> {
  let writtenCount = seed.written;
  const writes = new WriteQueue(parts.limits.writeConcurrency);
  const { observers } = parts;
  const step = async (): Promise<'more' | 'stopped' | 'complete'> => {
    observers.stream.busyWith('source');
    const state = { ...seed, written: writtenCount };
    const takenFrames = await writes.orFailure(nextEntries(parts, session, state, frames, writes));
    if (takenFrames.length === 0) {
      observers.stream.busyWith('database');
      await writes.drain();
      return frames.inbox.stopped ? 'stopped' : 'complete';
    }
    observers.stream.busyWith('decode');
    const span = parts.tracer?.batch('active_contracts', seed.offset);
    const builtEntries = await buildEntries(parts, session, { ...state, taken: takenFrames, span });
    frames.release(takenFrames);
    observers.stream.busyWith('database');
    await writes.room();
    const before = writtenCount;
    writtenCount += builtEntries.batch.entries;
    span?.writing(writes.underWay);
    writes.add((predecessor) => writeEntries(parts, session, seed, { ...builtEntries, before, predecessor, span }));
    return 'more';
  };
  return defer(step).pipe(
    repeat(),
    takeWhile((state) => state === 'more', true),
    last(),
    concatMap(async (state) => {
      if (state === 'stopped') return undefined;
      observers.stream.busyWith('source');
      await verifySeed(parts, session, seed);
      // A check that was stopped has verified nothing.
      if (parts.stop.aborted) return undefined;
      observers.stream.busyWith('database');
      await session.publishSeed(seed.offset, 'seed', await findAnchor(parts, session));
      observers.seed.done({ contracts: writtenCount, offset: seed.offset });
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
const retryDelaysMs: readonly number[] = [500, 1_000, 2_000, 4_000];

/** Errors about the list, and not about the connection to the ledger. */
const listErrorCodes: ReadonlySet<string> = new Set(['LEDGER_STREAM_TRUNCATED', 'SEED_UNVERIFIED']);

/**
 * Verifies the list.
 * @throws IndexerError LEDGER_STREAM_TRUNCATED: the next session continues after the stored token, or starts over
 */
async function verifySeed(parts: PipelineParts, session: WriterSession, seed: RunningSeed): Promise<void> {
  const { ledger, filter, release, observers, stop } = parts;
  const { offset, read: listTally, strict: isStrict } = seed;
  const listSources = { ledger, streamed: (request: object) => streamList(parts, request) };
  const list = { offset, filter, release, read: listTally, ...(isStrict === undefined ? {} : { strict: isStrict }) };
  for (const delayMs of [...retryDelaysMs, undefined]) {
    const error = await checkList(parts, list, listSources).catch(toIndexerError);
    if (error === undefined) return;
    if (restartCodes.has(error.code)) throw await seedPrunedError(parts, session, seed, error);
    const isTransient = error.retry === 'retry' && !listErrorCodes.has(error.code) && listTally.token === null;
    if (!isTransient || delayMs === undefined || stop.aborted) throw error;
    observers.stream.failed('ledger', error, delayMs);
    await pause(delayMs, stop);
  }
}

/** Why the list is rejected; undefined if it is complete and one version of the participant returned all of it. */
async function checkList(
  parts: PipelineParts,
  list: CompletedList,
  listSources: ContractListReads,
): Promise<IndexerError | undefined> {
  const error = await findListError(list, listSources);
  if (error !== undefined) return error;
  const { version } = await sessionRelease(parts);
  const { version: before } = list.release;
  if (version === before) return undefined;
  const [from, to] = [before, version].map((knownVersion) => knownVersion ?? 'an unknown version');
  const message = `the participant was upgraded from ${String(from)} to ${String(to)} while the list was read`;
  return ledgerError('LEDGER_CONTINUATION_TOKEN_INVALID', message);
}

/** Frames of a list as text. */
async function* streamList(parts: PipelineParts, request: object): AsyncGenerator<readonly string[]> {
  const { batchUpdates, batchBytes } = parts.limits;
  const frames = await firstValueFrom(frames$(parts, path, request));
  try {
    for (;;) {
      const takenFrames = await frames.inbox.take(batchUpdates, batchBytes);
      if (takenFrames.length === 0) return;
      const texts = takenFrames.map((frame) => textOf(frame).toString());
      frames.release(takenFrames);
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
async function findAnchor(parts: PipelineParts, session: WriterSession): Promise<UpdateMark | undefined> {
  const offset = await session.newestActivation();
  if (offset === undefined || offset === 0) return undefined;
  // An additional check, not a condition: a seed that took hours is not discarded because this update is missing.
  const updateId = await updateIdAt(parts, offset).catch(() => undefined);
  return updateId === undefined ? undefined : { offset, updateId };
}

async function nextEntries(
  parts: PipelineParts,
  session: WriterSession,
  seed: RunningSeed,
  frames: Frames,
  writes: WriteQueue,
): Promise<readonly StoredFrame[]> {
  const { batchUpdates, batchBytes } = parts.limits;
  try {
    return await frames.inbox.take(batchSizeAt(seed.written, seed.apart, batchUpdates), batchBytes);
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (!restartCodes.has(error.code)) throw error;
    await writes.drain();
    throw await seedPrunedError(parts, session, seed, error);
  }
}

/** Forgets the token, so that the next session starts over at an offset that the ledger can still return. */
async function seedPrunedError(
  { ledger, release }: PipelineParts,
  session: WriterSession,
  seed: RunningSeed,
  prunedError: IndexerError,
): Promise<IndexerError> {
  await session.beginSeed(seed.offset, listSourceOf(release));
  const cause = await correctRefusal(prunedError, seed.offset, ledger);
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
  readonly built: BatchResult;
}

async function buildEntries(
  { participantOffsets }: Pick<PipelineParts, 'participantOffsets'>,
  session: WriterSession,
  seed: RunningSeed & { readonly taken: readonly StoredFrame[]; readonly span: BatchSpan | undefined },
): Promise<BuiltEntries> {
  const { span } = seed;
  const batch = session.newBatch(seed.offset);
  let newest: TextOrUtf8 | null = null;
  const builtBatch = await buildBatch(seed.taken, (frame) => {
    newest = null;
    const entry = decodeActiveContract(frame, batch.unknown);
    newest = contractIdOf(entry);
    batch.addEntry(participantOffsets?.entry(entry) ?? entry);
    // As the ledger sent it, because another reading is compared with it.
    seed.read.add(entry);
  });
  batch.seal();
  const contractId = newest === null ? null : stringOf(newest);
  span?.decoded(builtBatch.frames, builtBatch.bytes, builtBatch.error);
  if (builtBatch.error !== undefined) {
    span?.done(batch, builtBatch.error);
    throw withEntryContext(builtBatch.error, {
      seedOffset: seed.offset,
      entry: seed.written + builtBatch.frames + 1,
      contractId,
    });
  }
  return { batch, built: builtBatch, contractId };
}

function contractIdOf(entry: ActiveContractEntry): TextOrUtf8 | null {
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
  session: WriterSession,
  seed: RunningSeed,
  { batch, built: builtBatch, contractId, before, predecessor, span }: EntriesToWrite,
): Promise<void> {
  const started = performance.now();
  const rows = await session.writeSeed(batch, before, predecessor).catch(async (thrown: unknown) => {
    const range = { from: before, upTo: before + batch.entries };
    const error = withRange(toIndexerError(thrown), range);
    span?.done(batch, error);
    if (batch.entries !== 1) throw error;
    throw withEntryContext(await session.explainedEntry(error), {
      seedOffset: seed.offset,
      entry: range.upTo,
      contractId,
    });
  });
  span?.done(batch);
  const { observers } = parts;
  const facts = batchFactsOf(batch, rows, builtBatch, (performance.now() - started) / 1000);
  observers.stream.batchCommitted({ ...facts, checkpoint: undefined });
  observers.seed.progress({ contracts: before + batch.entries, offset: seed.offset });
  // Without a token the next session starts over, so this must not look like progress.
  if (batch.continuationToken !== null) seed.onProgress();
}
