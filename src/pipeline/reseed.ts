/**
 * Reads all active contracts again while the stream is stopped. The usual seed stages them in a separate schema, and
 * then one transaction merges them. They are read at the earliest offset that the participant still returns, so that
 * the gap is as small as possible. Until the merge, readers see the state at the checkpoint. An interrupted reseed
 * continues, or starts over, when it is run again.
 */
import { lastValueFrom } from 'rxjs';
import { pause } from '../config/pause.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import type { MergeResult, StreamIdentity, StreamState } from '../model/stream.ts';
import { isNamed, emptyRange, searchRangeOf } from './retry/isolate-failing-update.ts';
import { verifyHistory, type LedgerState, type HistoryState } from './proof/history-proof.ts';
import { findKnownInterfaces } from '../ledger/api/known-interfaces.ts';
import { interfacesNamed } from '../config/interface-presets.ts';
import { sessionRelease } from './proof/session-release.ts';
import { fetchLedgerIdentity } from './proof/identity.ts';
import { withInterfaces } from './proof/interfaces.ts';
import type { PipelineParts } from './ports/parts.ts';
import type { Sink } from './ports/sink.ts';
import { isTransient } from './retry/missing-route.ts';
import { seed$ } from './seed.ts';

/** The stored state of the stopped stream. */
export type ExistingStream = Pick<StreamState, 'participantId' | 'seeded' | 'checkpoint' | 'lastUpdate'> &
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
  }): Promise<MergeResult>;
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

export interface ReseedResult extends MergeResult {
  /** The offset of the active contracts; the gap is the range from the checkpoint to this offset. */
  readonly offset: number;
}

/** Consecutive failures, without a stored entry in between, after which the reseed ends. */
const failuresAllowed = 8;
const retryMs = 2_000;
/** Delay after the first failure since something was stored, in milliseconds. */
const firstCheckMs = 100;

/**
 * Verifies that the ledger's offsets are still those of the stored history, and plans the reseed.
 * @param stream undefined if nothing was ever indexed
 * @throws IndexerError RESEED_REFUSED if they are not, or there is no history to keep
 */
export async function planReseed(allParts: PipelineParts, stream: ExistingStream | undefined): Promise<ReseedPlan> {
  if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
    throw refusalError('there is no history to keep in this schema', 'start the indexer, which seeds automatically');
  }
  const { checkpoint, participantId, lastUpdate } = stream;
  if (checkpoint < (allParts.participantOffsets?.repeatsTo ?? 0))
    throw justSwitchedError(allParts.participantOffsets?.repeatsTo ?? 0);
  const identity = await fetchLedgerIdentity(allParts);
  const ledgerEnd = await allParts.ledger.state.ledgerEnd();
  const interfaces = await findKnownInterfaces(
    allParts.ledger,
    allParts.filter,
    interfacesNamed(allParts.wantedInterfaces),
    ledgerEnd,
  );
  const parts = withInterfaces(allParts, interfaces);
  const pruned = await parts.ledger.state.latestPrunedOffsets();
  if (participantId !== null && identity.participantId !== undefined && participantId !== identity.participantId) {
    const message = `this schema holds participant ${participantId}, the ledger is participant ${identity.participantId}`;
    throw otherOffsetsError(message);
  }
  const otherFilter = identity.filterHash !== stream.filterHash;
  const bounds = { ledgerEnd, pruned: Math.min(pruned, checkpoint), otherFilter };
  await refuseOtherHistory(parts, { checkpoint, lastUpdate, seedOffset: null }, bounds);
  const filterNote = otherFilter ? ', with another filter from here on' : '';
  const reason =
    pruned > checkpoint
      ? `the participant was pruned up to ${String(pruned)}, past the checkpoint ${String(checkpoint)}${filterNote}`
      : `seeded again by the operator, after the checkpoint ${String(checkpoint)}${filterNote}`;
  return { identity, interfaces, checkpoint, ledgerEnd, pruned, reason };
}

async function refuseOtherHistory(
  parts: PipelineParts,
  history: HistoryState,
  bounds: Omit<LedgerState, 'sameParticipant'>,
): Promise<void> {
  try {
    // The participant ids are not compared here, because the merge compares all contracts.
    await verifyHistory(parts, history, { ...bounds, sameParticipant: true });
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (error.code !== 'HISTORY_CHANGED' && error.code !== 'LEDGER_BEHIND_CHECKPOINT') throw error;
    throw otherOffsetsError(error.message);
  }
}

/**
 * The error if updates are still stored from the previous participant. They would look as if this participant lacked
 * them.
 */
function justSwitchedError(upTo: number): IndexerError {
  return refusalError(
    `the stream was switched to another participant and has not passed offset ${String(upTo)}, up to which some updates came from both participants`,
    'run the indexer until it has passed it, then run the command again',
  );
}

function otherOffsetsError(message: string): IndexerError {
  const remedy =
    'offsets of two histories cannot share a schema: index this ledger into a new POSTGRES_SCHEMA and keep this one, ' +
    'go back to where both agree (ledger-indexer reset --to OFFSET --yes), or delete everything stored here ' +
    '(ledger-indexer reset --all --yes)';
  return refusalError(message, remedy);
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'RESEED_REFUSED', remedy });
}

/**
 * Stages the active contracts and merges them. Only the holder of the writer lock may call it.
 * @throws IndexerError; the stream is unchanged then
 */
export async function reseed(allParts: PipelineParts, staging: Staging, plan: ReseedPlan): Promise<ReseedResult> {
  const { identity, interfaces, checkpoint, pruned, reason } = plan;
  const parts = withInterfaces(allParts, interfaces);
  await staging.prepare({ identity, notBefore: Math.max(checkpoint, pruned) });
  const offset = await stageContracts(parts, staging, plan);
  if (offset === undefined) throw interruptedError();
  return { ...(await staging.merge({ identity, interfaces, offset, checkpoint, reason })), offset };
}

/** Seeds until all contracts are staged; undefined when a stop was requested. */
async function stageContracts(parts: PipelineParts, staging: Staging, plan: ReseedPlan): Promise<number | undefined> {
  let failures = 0;
  let refusedOffset = -1;
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
      const end = await gapEnd(parts, plan, refusedOffset);
      const seeded$ = seed$(seedParts, session, end, { apart: isolatedRange, onProgress, strict: true });
      return await lastValueFrom(seeded$, { defaultValue: undefined });
    } catch (thrown) {
      const error = toIndexerError(thrown);
      failures += 1;
      const isRefused = error.facts['reason'] === 'LEDGER_PRUNED' || error.code === 'LEDGER_REASSIGNMENT_IN_FLIGHT';
      if (isRefused) refusedOffset = Number(error.facts['offset']);
      isolatedRange = searchRangeOf(error, failures) ?? emptyRange;
      const searching = isolatedRange !== emptyRange && !isNamed(error);
      const canContinue = searching || isTransient(error);
      const delayMs = failures === 1 ? firstCheckMs : retryMs;
      parts.observers.stream.failed('ledger', error, canContinue ? delayMs : undefined);
      if (!canContinue || failures >= failuresAllowed) throw error;
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
 * @param refusedOffset the offset at which it refused them; -1 if it did not
 */
async function gapEnd(parts: PipelineParts, { checkpoint }: ReseedPlan, refusedOffset: number): Promise<number> {
  const earliest = Math.max(checkpoint, await parts.ledger.state.latestPrunedOffsets());
  return earliest > refusedOffset ? earliest : parts.ledger.state.ledgerEnd();
}

function interruptedError(): IndexerError {
  return new IndexerError('the reseed was interrupted; the stream is as it was', {
    code: 'INTERRUPTED',
    remedy: 'run it again: it continues with the contracts it has read',
  });
}
