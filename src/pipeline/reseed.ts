/**
 * A new look at all active contracts beside a stream that stands still: gathered into a schema of its own by the same
 * seed as ever, then merged in one transaction. They are read as early as the participant still shows them: what can be
 * followed is not given away. Until then readers see the state of the checkpoint; a reseed that is cut goes on, or starts
 * over, when it is run again.
 */
import { lastValueFrom } from 'rxjs';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import type { Database } from '../store/connection/database.ts';
import { mergeStaging, type Merged } from '../store/history/merge.ts';
import { readStream, refused, type StreamFacts } from '../store/history/maintenance.ts';
import { prepareStaging } from '../store/history/staging.ts';
import { openSession } from '../store/write/store.ts';
import type { StreamIdentity } from '../store/write/stream-row.ts';
import { isNamed, nowhere, stretchToSearch } from './retry/apart.ts';
import { proveHistory, type LedgerBounds } from './proof/history-proof.ts';
import { askIdentity } from './proof/identity.ts';
import type { PipelineParts } from './ports/parts.ts';
import { pause } from './retry/retry.ts';
import { seed$ } from './seed.ts';

/** What a reseed that keeps the history would meet. */
export interface ReseedPlan {
  readonly identity: StreamIdentity;
  readonly stream: StreamFacts;
  readonly checkpoint: number;
  readonly ledgerEnd: number;
  readonly pruned: number;
  /** Why there is another range, for table `coverage`. */
  readonly reason: string;
}

export interface Reseeded extends Merged {
  /** The offset of the active contracts; what lies between the checkpoint and it is the gap. */
  readonly offset: number;
}

/** So many failures in a row without an entry stored, then the reseed is left for another time. */
const failuresAllowed = 8;
const retryMs = 2_000;
/** After a failure before which something was stored. */
const soonMs = 100;

/**
 * Whether the ledger's offsets still are those of our history, and what the gap would be. `parts.database` is the
 * stream's own.
 * @throws IndexerError RESEED_REFUSED when they are not, or there is no history to keep
 */
export async function planReseed(parts: PipelineParts): Promise<ReseedPlan> {
  const stream = await readStream(parts.database);
  if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
    throw refused('reseed', 'there is no history to keep in this schema', 'start the indexer: it seeds by itself');
  }
  const { checkpoint, participantId, lastUpdate } = stream;
  const identity = await askIdentity(parts);
  const ledgerEnd = await parts.ledger.state.ledgerEnd();
  const pruned = await parts.ledger.state.latestPrunedOffsets();
  if (participantId !== null && identity.participantId !== undefined && participantId !== identity.participantId) {
    const found = `this schema holds participant ${participantId}, the ledger is participant ${identity.participantId}`;
    throw otherOffsets(found);
  }
  const otherFilter = identity.filterHash !== stream.filterHash;
  const bounds = { ledgerEnd, pruned: Math.min(pruned, checkpoint), otherFilter };
  await refuseOtherHistory(parts, { checkpoint, lastUpdate }, bounds);
  const changed = otherFilter ? ', with another filter from here on' : '';
  const reason =
    pruned > checkpoint
      ? `the participant was pruned up to ${String(pruned)}, past the checkpoint ${String(checkpoint)}${changed}`
      : `seeded again by the operator, after the checkpoint ${String(checkpoint)}${changed}`;
  return { identity, stream, checkpoint, ledgerEnd, pruned, reason };
}

async function refuseOtherHistory(
  parts: PipelineParts,
  stored: Pick<StreamFacts, 'lastUpdate'> & { readonly checkpoint: number },
  bounds: Omit<LedgerBounds, 'sameParticipant'>,
): Promise<void> {
  const { checkpoint, lastUpdate } = stored;
  const state = { checkpoint, lastUpdate, epoch: 0, participantId: null, seedOffset: null, seeded: true };
  try {
    // Contracts are compared when they are merged, all of them.
    await proveHistory(parts, { ...state, seedToken: null, seedContracts: 0 }, { ...bounds, sameParticipant: true });
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (error.code !== 'HISTORY_CHANGED' && error.code !== 'LEDGER_BEHIND_CHECKPOINT') throw error;
    throw otherOffsets(error.message);
  }
}

function otherOffsets(found: string): IndexerError {
  const remedy =
    'offsets of two histories cannot share a schema: index this ledger into a new POSTGRES_SCHEMA and keep this one, ' +
    'go back to where both agree (ledger-indexer reset --to OFFSET --yes), or give up this history ' +
    '(ledger-indexer reseed --yes)';
  return refused('reseed', found, remedy);
}

/**
 * Gathers the active contracts and merges them. To be called by the holder of the writer lock only.
 * @param staging the handle of the staging schema
 * @throws IndexerError; the stream is as it was then
 */
export async function reseed(
  parts: PipelineParts,
  staging: Database,
  plan: ReseedPlan,
  writer: string,
): Promise<Reseeded> {
  const { identity, checkpoint, pruned } = plan;
  await prepareStaging(staging, parts.database.schema, { identity, notBefore: Math.max(checkpoint, pruned) });
  const offset = await gather({ ...parts, database: staging, notify: false }, plan);
  if (offset === undefined) throw interrupted();
  const gathered = await readStream(staging);
  const merged = await mergeStaging(parts.database, {
    identity,
    offset,
    anchor: gathered?.lastUpdate,
    checkpoint,
    reason: plan.reason,
    writer,
    notify: parts.notify,
  });
  return { ...merged, offset };
}

/** Seeds until it is done; undefined when a stop was asked for. */
async function gather(parts: PipelineParts, plan: ReseedPlan): Promise<number | undefined> {
  let failures = 0;
  let refusedAt = -1;
  let apart = nowhere;
  while (!parts.stop.aborted) {
    try {
      const session = await openSession(parts.database, plan.identity, { notify: false });
      // A reseed that was cut before its merge has gathered everything already.
      if (session.state.seeded && session.state.checkpoint !== null) return session.state.checkpoint;
      const onProgress = (): void => {
        failures = 0;
      };
      const seeded$ = seed$(parts, session, await gapEnd(parts, plan, refusedAt), { apart, onProgress, strict: true });
      return await lastValueFrom(seeded$, { defaultValue: undefined });
    } catch (thrown) {
      const error = toIndexerError(thrown);
      failures += 1;
      if (error.facts['because'] === 'LEDGER_PRUNED') refusedAt = Number(error.facts['offset']);
      apart = stretchToSearch(error, failures) ?? nowhere;
      const searching = apart !== nowhere && !isNamed(error);
      const again = searching || error.retry === 'retry' || error.retry === 'refresh-token';
      const delayMs = failures === 1 ? soonMs : retryMs;
      parts.observer.failed('ledger', error, again ? delayMs : undefined);
      if (!again || failures >= failuresAllowed) throw error;
      if (error.retry === 'refresh-token') parts.tokenSource.invalidate();
      await pause(delayMs, parts.stop);
    }
  }
  return undefined;
}

/**
 * Where the gap ends: at the checkpoint, so that there is none, or at the pruned offset, from which on updates can be
 * followed. Only where the participant refuses to show what was active there, at its end.
 * @param refusedAt the offset at which it has refused; -1 when it has not
 */
async function gapEnd(parts: PipelineParts, { checkpoint }: ReseedPlan, refusedAt: number): Promise<number> {
  const earliest = Math.max(checkpoint, await parts.ledger.state.latestPrunedOffsets());
  return earliest > refusedAt ? earliest : parts.ledger.state.ledgerEnd();
}

function interrupted(): IndexerError {
  return new IndexerError('the reseed was interrupted; the stream is as it was', {
    code: 'INTERRUPTED',
    remedy: 'run it again: it goes on with what it has gathered',
  });
}
