/**
 * Reads all active contracts again while the stream is stopped. The usual seed stages them in a separate schema, and
 * then one transaction merges them. They are read at the earliest offset that the participant still returns, so that
 * the gap is as small as possible. Until the merge, readers see the state at the checkpoint. An interrupted reseed
 * continues, or starts over, when it is run again.
 */
import { lastValueFrom } from 'rxjs';
import { pause } from '../config/pause.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import type { Merged, StreamIdentity, StreamState } from '../model/stream.ts';
import { isNamed, emptyRange, rangeToSearch } from './retry/isolate-failing-update.ts';
import { proveHistory, type LedgerBounds, type StoredHistory } from './proof/history-proof.ts';
import { knownInterfaces } from '../ledger/api/known-interfaces.ts';
import { interfacesNamed } from '../config/interface-presets.ts';
import { sessionRelease } from './proof/session-release.ts';
import { askIdentity } from './proof/identity.ts';
import { withInterfaces } from './proof/interfaces.ts';
import type { PipelineParts } from './ports/parts.ts';
import type { Sink } from './ports/sink.ts';
import { mayPass } from './retry/missing-route.ts';
import { seed$ } from './seed.ts';

/** The stored state of the stopped stream. */
export type StandingStream = Pick<StreamState, 'participantId' | 'seeded' | 'checkpoint' | 'lastUpdate'> &
  Pick<StreamIdentity, 'filterHash'>;

/** Staging area for active contracts, and their merge. For the holder of the writer lock. */
export interface Staging extends Pick<Sink, 'openSession'> {
  /**
   * Creates the staging area, or reuses the one of an interrupted reseed if it fits.
   * @throws IndexerError RESEED_REFUSED when something blocks it
   */
  prepare(spec: {
    readonly identity: StreamIdentity;
    /** The checkpoint, or the pruned offset if that is higher; earlier offsets cannot be used. */
    readonly notBefore: number;
  }): Promise<void>;
  /**
   * Merges the staged contracts into the stream and moves its checkpoint, in one transaction.
   * @throws IndexerError HISTORY_CHANGED, RESEED_REFUSED; nothing is changed then
   */
  merge(merge: {
    readonly identity: StreamIdentity;
    /** Interfaces whose views were staged with the contracts. */
    readonly interfaces: readonly string[];
    /** The offset at which the active contracts were read. */
    readonly offset: number;
    /** The checkpoint when the reseed began. */
    readonly checkpoint: number;
    /** Reason for the gap, for table `coverage`. */
    readonly reason: string;
  }): Promise<Merged>;
}

/** Plan of a reseed that keeps the history. */
export interface ReseedPlan {
  readonly identity: StreamIdentity;
  /** The configured interfaces that the participant knows. */
  readonly interfaces: readonly string[];
  readonly checkpoint: number;
  readonly ledgerEnd: number;
  readonly pruned: number;
  /** Reason for the new range, for table `coverage`. */
  readonly reason: string;
}

export interface Reseeded extends Merged {
  /** The offset of the active contracts; the gap is the range from the checkpoint to this offset. */
  readonly offset: number;
}

/** Consecutive failures, without a stored entry in between, after which the reseed ends. */
const failuresAllowed = 8;
const retryMs = 2_000;
/** Delay after the first failure since something was stored, in milliseconds. */
const soonMs = 100;

/**
 * Verifies that the ledger's offsets are still those of the stored history, and plans the reseed.
 * @param stream undefined if nothing was ever indexed
 * @throws IndexerError RESEED_REFUSED if they are not, or there is no history to keep
 */
export async function planReseed(all: PipelineParts, stream: StandingStream | undefined): Promise<ReseedPlan> {
  if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
    throw refused('there is no history to keep in this schema', 'start the indexer, which seeds automatically');
  }
  const { checkpoint, participantId, lastUpdate } = stream;
  if (checkpoint < (all.participantOffsets?.repeatsTo ?? 0)) throw justSwitched(all.participantOffsets?.repeatsTo ?? 0);
  const identity = await askIdentity(all);
  const ledgerEnd = await all.ledger.state.ledgerEnd();
  const interfaces = await knownInterfaces(all.ledger, all.filter, interfacesNamed(all.wantedInterfaces), ledgerEnd);
  const parts = withInterfaces(all, interfaces);
  const pruned = await parts.ledger.state.latestPrunedOffsets();
  if (participantId !== null && identity.participantId !== undefined && participantId !== identity.participantId) {
    const found = `this schema holds participant ${participantId}, the ledger is participant ${identity.participantId}`;
    throw otherOffsets(found);
  }
  const otherFilter = identity.filterHash !== stream.filterHash;
  const bounds = { ledgerEnd, pruned: Math.min(pruned, checkpoint), otherFilter };
  await refuseOtherHistory(parts, { checkpoint, lastUpdate, seedOffset: null }, bounds);
  const changed = otherFilter ? ', with another filter from here on' : '';
  const reason =
    pruned > checkpoint
      ? `the participant was pruned up to ${String(pruned)}, past the checkpoint ${String(checkpoint)}${changed}`
      : `seeded again by the operator, after the checkpoint ${String(checkpoint)}${changed}`;
  return { identity, interfaces, checkpoint, ledgerEnd, pruned, reason };
}

async function refuseOtherHistory(
  parts: PipelineParts,
  stored: StoredHistory,
  bounds: Omit<LedgerBounds, 'sameParticipant'>,
): Promise<void> {
  try {
    // The participant ids are not compared here, because the merge compares all contracts.
    await proveHistory(parts, stored, { ...bounds, sameParticipant: true });
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (error.code !== 'HISTORY_CHANGED' && error.code !== 'LEDGER_BEHIND_CHECKPOINT') throw error;
    throw otherOffsets(error.message);
  }
}

/**
 * The error if updates are still stored from the previous participant. They would look as if this participant lacked
 * them.
 */
function justSwitched(upTo: number): IndexerError {
  return refused(
    `the stream was switched to another participant and has not passed offset ${String(upTo)}, up to which some updates came from both participants`,
    'run the indexer until it has passed it, then run the command again',
  );
}

function otherOffsets(found: string): IndexerError {
  const remedy =
    'offsets of two histories cannot share a schema: index this ledger into a new POSTGRES_SCHEMA and keep this one, ' +
    'go back to where both agree (ledger-indexer reset --to OFFSET --yes), or delete everything stored here ' +
    '(ledger-indexer reset --all --yes)';
  return refused(found, remedy);
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'RESEED_REFUSED', remedy });
}

/**
 * Stages the active contracts and merges them. Only the holder of the writer lock may call it.
 * @throws IndexerError; the stream is unchanged then
 */
export async function reseed(all: PipelineParts, staging: Staging, plan: ReseedPlan): Promise<Reseeded> {
  const { identity, interfaces, checkpoint, pruned, reason } = plan;
  const parts = withInterfaces(all, interfaces);
  await staging.prepare({ identity, notBefore: Math.max(checkpoint, pruned) });
  const offset = await gather(parts, staging, plan);
  if (offset === undefined) throw interrupted();
  return { ...(await staging.merge({ identity, interfaces, offset, checkpoint, reason })), offset };
}

/** Seeds until all contracts are staged; undefined when a stop was requested. */
async function gather(parts: PipelineParts, staging: Staging, plan: ReseedPlan): Promise<number | undefined> {
  let failures = 0;
  let refusedAt = -1;
  let isolatedRange = emptyRange;
  while (!parts.stop.aborted) {
    try {
      const session = await staging.openSession(plan.identity);
      // A reseed that was interrupted before its merge has staged everything already.
      if (session.state.seeded && session.state.checkpoint !== null) return session.state.checkpoint;
      const onProgress = (): void => {
        failures = 0;
      };
      const seedParts = { ...parts, release: await sessionRelease(parts) };
      const end = await gapEnd(parts, plan, refusedAt);
      const seeded$ = seed$(seedParts, session, end, { apart: isolatedRange, onProgress, strict: true });
      return await lastValueFrom(seeded$, { defaultValue: undefined });
    } catch (thrown) {
      const error = toIndexerError(thrown);
      failures += 1;
      const isRefused = error.facts['reason'] === 'LEDGER_PRUNED' || error.code === 'LEDGER_REASSIGNMENT_IN_FLIGHT';
      if (isRefused) refusedAt = Number(error.facts['offset']);
      isolatedRange = rangeToSearch(error, failures) ?? emptyRange;
      const searching = isolatedRange !== emptyRange && !isNamed(error);
      const again = searching || mayPass(error);
      const delayMs = failures === 1 ? soonMs : retryMs;
      parts.observers.stream.failed('ledger', error, again ? delayMs : undefined);
      if (!again || failures >= failuresAllowed) throw error;
      if (error.retry === 'refresh-token') parts.tokenSource.invalidate();
      await pause(delayMs, parts.stop);
    }
  }
  return undefined;
}

/**
 * End of the gap. If possible, it is the checkpoint, so that there is no gap. Otherwise it is the pruned offset, from
 * which updates can be followed. It is the ledger end only if the participant refuses to return the contracts active at
 * the other offset.
 * @param refusedAt the offset at which it refused them; -1 if it did not
 */
async function gapEnd(parts: PipelineParts, { checkpoint }: ReseedPlan, refusedAt: number): Promise<number> {
  const earliest = Math.max(checkpoint, await parts.ledger.state.latestPrunedOffsets());
  return earliest > refusedAt ? earliest : parts.ledger.state.ledgerEnd();
}

function interrupted(): IndexerError {
  return new IndexerError('the reseed was interrupted; the stream is as it was', {
    code: 'INTERRUPTED',
    remedy: 'run it again: it continues with the contracts it has read',
  });
}
