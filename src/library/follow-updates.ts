/**
 * Updates as an endless sequence. Streams follow one another, each after the last update of the previous one. It ends
 * if it is stopped, or with an error that a retry would not fix.
 */
import { pause } from '../config/pause.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import { assertTokenConfidential } from '../ledger/access/token.ts';
import { type LedgerFilter, updateFormat, updatesRequest } from '../ledger/api/request-format.ts';
import { updateResponseOf, type Update, type UpdateValue } from '../ledger/api/update-types.ts';
import { updateCalls } from '../ledger/api/updates.ts';
import { ledgerError } from '../ledger/errors/make-ledger-error.ts';
import { openFrameStream, type FrameStream } from '../ledger/transport/frame-stream.ts';
import { createTransport } from '../ledger/transport/transport.ts';
import { Inbox } from '../pipeline/intake/inbox.ts';
import { decide, FailureCount } from '../pipeline/retry/retry.ts';
import { type ConnectionOptions, transportOptions } from './connection.ts';

/** Which updates to follow, and from where. */
export interface FollowOptions extends ConnectionOptions {
  /** The first update is the next one after this offset. 0 is the beginning of the ledger. */
  readonly after: number;
  /**
   * Id of the update at `after`. If the ledger has another update there, for example after a restore, the call fails.
   */
  readonly afterUpdateId?: string;
  /** Parties to follow. Default: all parties that the participant hosts, which needs the right CanReadAsAnyParty. */
  readonly parties?: readonly string[];
  /** Templates as `#package-name:Module:Entity`; default: all templates. */
  readonly templates?: readonly string[];
  /** Interfaces as `#package-name:Module:Entity`. Contracts that implement one of them have its view. */
  readonly interfaces?: readonly string[];
  /** Default `LEDGER_EFFECTS`: creates and all exercises. `ACS_DELTA`: only creates and archives. */
  readonly shape?: 'LEDGER_EFFECTS' | 'ACS_DELTA';
  /** Whether to include changes of party hosting; default false. */
  readonly topology?: boolean;
  /** Whether creates have a `createdEventBlob`, for disclosed contracts; default false. */
  readonly createdEventBlobs?: boolean;
  /** Whether to include offsets that were reached without an update, with kind `OffsetCheckpoint`; default false. */
  readonly checkpoints?: boolean;
  /** Maximum delay between two attempts, milliseconds; default 30,000. */
  readonly retryMaxDelayMs?: number;
  /** Called with each failure that is retried. */
  readonly onRetry?: (error: Error, delayMs: number) => void;
}

/** A complete update. */
export interface FollowedUpdate {
  /** The value for `after` in the next call. */
  readonly offset: number;
  /** `Transaction`, `Reassignment`, `TopologyTransaction`, `OffsetCheckpoint`, or a kind of a later release. */
  readonly kind: string;
  /** The value for `afterUpdateId` in the next call; undefined for `OffsetCheckpoint`. */
  readonly updateId: string | undefined;
  /** The update as the ledger sent it. Daml values are plain JSON. */
  readonly update: Update;
}

/** Maximum buffer while the program is slow. When it is full, the ledger has to wait. */
const held = { frames: 1000, bytes: 8 * 1024 * 1024 };
const taken = { frames: 200, bytes: 1024 * 1024 };
const pingIntervalMs = 20_000;
const retryMaxDelayMs = 30_000;
/** Used if no signal is passed. */
const never = new AbortController().signal;

/**
 * All updates after an offset, in order, without repetitions or gaps. The sequence is endless: it waits for new
 * updates. Broken streams are opened again. While the program is slow, the ledger waits. It ends when `signal` is
 * aborted or the loop is left.
 * @throws LedgerError that a retry would not fix, such as LEDGER_PRUNED, LEDGER_PERMISSION_DENIED or HISTORY_CHANGED.
 * LEDGER_OFFSET_AFTER_END is thrown after five minutes, because a replica that is behind returns it too
 */
export async function* followUpdates(options: FollowOptions): AsyncGenerator<FollowedUpdate, void, undefined> {
  const { signal } = options;
  const position: StreamPosition = { offset: options.after, proof: proofOf(options) };
  const failures = new FailureCount();
  for (;;) {
    if (isAborted(signal)) return;
    try {
      for await (const update of session(options, position)) {
        failures.clear();
        yield update;
      }
      if (isAborted(signal)) return;
      throw ledgerError('LEDGER_STREAM_CLOSED', `the ledger ended the stream after offset ${String(position.offset)}`);
    } catch (thrown) {
      if (isAborted(signal)) return;
      await beforeNext(toIndexerError(thrown), failures, options);
    }
  }
}

/** A function, because the signal may have changed since the last check. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** Waits for the delay that this failure requires. @throws the failure if it must not be retried */
async function beforeNext(error: IndexerError, failures: FailureCount, options: FollowOptions): Promise<void> {
  const decision = decide(error, failures.add(error), options.retryMaxDelayMs ?? retryMaxDelayMs, Math.random());
  if (decision.kind === 'give-up' || decision.phase === 'parked') throw error;
  options.onRetry?.(error, decision.delayMs);
  await pause(decision.delayMs, options.signal ?? never);
}

/** Position in the sequence. */
interface StreamPosition {
  offset: number;
  /** The newest update whose id is known. The ledger must still have it. */
  proof: { readonly offset: number; readonly updateId: string } | undefined;
}

function proofOf({ after, afterUpdateId }: FollowOptions): StreamPosition['proof'] {
  return afterUpdateId === undefined ? undefined : { offset: after, updateId: afterUpdateId };
}

/** Yields the updates of one stream. The position moves before an update is yielded. */
async function* session(
  options: FollowOptions,
  position: StreamPosition,
): AsyncGenerator<FollowedUpdate, void, undefined> {
  const transport = transportOptions(options);
  const filter = filterOf(options);
  await prove(options, position, filter);
  const token = (await transport.tokenSource.lease())?.token;
  assertTokenConfidential(transport.url, token, transport.insecure);
  const feed = openFeed(options, updatesRequest(position.offset, filter), token);
  try {
    for (;;) {
      const frames = await feed.inbox.take(taken.frames, taken.bytes);
      if (frames.length === 0) return;
      for (const frame of frames) {
        const update = followed(frame);
        const isCheckpoint = update.kind === 'OffsetCheckpoint';
        // A checkpoint may repeat the offset of the position; any other update at that offset would be a repetition.
        if (update.offset < position.offset || (update.offset === position.offset && !isCheckpoint)) {
          throw outOfOrder(update, position);
        }
        const isNew = update.offset > position.offset;
        position.offset = update.offset;
        if (update.updateId !== undefined) position.proof = { offset: update.offset, updateId: update.updateId };
        if (!isCheckpoint || (isNew && options.checkpoints === true)) yield update;
      }
    }
  } finally {
    feed.close();
  }
}

function filterOf(options: FollowOptions): LedgerFilter {
  return {
    parties: options.parties ?? [],
    templates: options.templates ?? [],
    interfaces: options.interfaces ?? [],
    createdEventBlobs: options.createdEventBlobs ?? false,
    shape: options.shape ?? 'LEDGER_EFFECTS',
    topology: options.topology ?? false,
  };
}

/**
 * Checks that the ledger still has the same history. Offsets are assigned again after a restore, so the update id
 * decides.
 * @throws HISTORY_CHANGED
 */
async function prove(options: FollowOptions, { proof }: StreamPosition, filter: LedgerFilter): Promise<void> {
  if (proof === undefined) return;
  const calls = updateCalls(createTransport(transportOptions(options)));
  const found = updateOf((await calls.byOffset(proof.offset, updateFormat(filter)))?.update ?? {});
  if (found?.value['updateId'] === proof.updateId) return;
  const there = found === undefined ? 'none' : 'another one';
  throw new IndexerError(`expected update ${proof.updateId} at offset ${String(proof.offset)}, found ${there}`, {
    code: 'HISTORY_CHANGED',
    remedy: 'start again from the active contracts of this ledger',
  });
}

interface Feed {
  readonly inbox: Inbox<Buffer>;
  close(): void;
}

function openFeed(options: FollowOptions, request: object, token: string | undefined): Feed {
  const { signal } = options;
  const { url, tls } = transportOptions(options);
  let stream: FrameStream | undefined;
  const inbox = new Inbox<Buffer>(held, {
    pause: () => stream?.pause(),
    resume: () => stream?.resume(),
    paused: () => undefined,
  });
  const stop = (): void => {
    inbox.stop();
  };
  signal?.addEventListener('abort', stop);
  stream = openFrameStream({
    url,
    path: '/v2/updates',
    request,
    token,
    tls,
    pingIntervalMs,
    onFrame: (frame) => {
      inbox.push(frame, frame.length);
    },
    onEnd: (error) => {
      inbox.end(error);
    },
  });
  if (isAborted(signal)) stop();
  const close = (): void => {
    signal?.removeEventListener('abort', stop);
    stream.close();
  };
  return { inbox, close };
}

/** @throws IndexerError LEDGER_UNDECODABLE */
function followed(frame: Buffer): FollowedUpdate {
  const { update } = updateResponseOf(parsed(frame), '/v2/updates');
  const found = updateOf(update ?? {});
  if (found === undefined || update === undefined || update === null) {
    throw ledgerError('LEDGER_UNDECODABLE', 'expected an update with an offset from /v2/updates, found other content');
  }
  const { kind, value } = found;
  const updateId = typeof value['updateId'] === 'string' ? value['updateId'] : undefined;
  return { offset: value.offset, kind, updateId, update };
}

function parsed(frame: Buffer): unknown {
  try {
    return JSON.parse(frame.toString('utf8'));
  } catch {
    throw ledgerError('LEDGER_UNDECODABLE', 'expected JSON from /v2/updates, found other content');
  }
}

function updateOf(update: Update): { readonly kind: string; readonly value: UpdateValue } | undefined {
  const [entry] = Object.entries(update) as readonly (readonly [string, { readonly value: UpdateValue }])[];
  return entry === undefined ? undefined : { kind: entry[0], value: entry[1].value };
}

function outOfOrder({ offset, kind }: FollowedUpdate, position: StreamPosition): IndexerError {
  return ledgerError(
    'LEDGER_OUT_OF_ORDER',
    `${kind} at offset ${String(offset)} came after offset ${String(position.offset)}`,
  );
}
