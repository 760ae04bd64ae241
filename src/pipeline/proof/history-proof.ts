/**
 * Verifies that the history of the ledger is still the same as the stored history. Offsets prove nothing, because a
 * participant that was restored or reset uses them again. Update ids do prove it. If the histories differ, the last
 * common offset is searched, so that the error can name the command that resets the stream to this offset. Read-only.
 */
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ContractMark, StreamState, UpdateMark } from '../../model/stream.ts';
import { listMatchingOffsets, updateIdAt } from './update-id.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { eventFormat } from '../../ledger/api/request-format.ts';
import { retryMissingRoute } from '../retry/missing-route.ts';

export interface LedgerState {
  readonly ledgerEnd: number;
  readonly pruned: number;
  /** Whether the participant id was compared and equals the stored one. */
  readonly sameParticipant: boolean;
  /**
   * Whether the filter for the ledger differs from the filter of the stored updates, so that the ledger may return more
   * updates.
   */
  readonly otherFilter?: boolean;
}

/** Where the stored history begins and ends. */
export type HistoryState = Pick<StreamState, 'checkpoint' | 'lastUpdate' | 'seedOffset'>;

/**
 * Verifies the stored history against the ledger.
 * @throws IndexerError LEDGER_PRUNED, HISTORY_CHANGED (park), LEDGER_BEHIND_CHECKPOINT (retry: a lagging replica
 *   catches up automatically)
 */
export async function verifyHistory(parts: PipelineParts, state: HistoryState, bounds: LedgerState): Promise<void> {
  const { checkpoint, lastUpdate } = state;
  const { ledgerEnd, pruned } = bounds;
  if (checkpoint === null) return;
  if (checkpoint > ledgerEnd) throw await shorterLedgerError(parts, checkpoint, state.seedOffset ?? 0, bounds);
  if (pruned > checkpoint) throw prunedPastError(checkpoint, pruned);
  // Pruned updates cannot be returned again. In that case, comparing the participant id must be sufficient, if it is
  // known.
  if (lastUpdate === undefined || lastUpdate.offset <= pruned) {
    if (!bounds.sameParticipant) await verifyByContracts(parts);
    return;
  }
  const ledgerUpdateId = await updateIdAt(parts, lastUpdate.offset);
  if (ledgerUpdateId === lastUpdate.updateId) {
    if (bounds.otherFilter !== true) await verifyNothingAfter(parts, lastUpdate, checkpoint);
    return;
  }
  throw updateChangedError(lastUpdate, ledgerUpdateId, await lastCommon(parts, pruned, lastUpdate.offset - 1));
}

/**
 * Verifies that the ledger has no updates between the newest stored update and the checkpoint. A participant that was
 * restored to an offset in between reuses the later offsets, and the updates at these offsets would never be requested.
 */
async function verifyNothingAfter(parts: PipelineParts, lastUpdate: UpdateMark, checkpoint: number): Promise<void> {
  if (lastUpdate.offset >= checkpoint) return;
  const from = Math.max(lastUpdate.offset, await parts.sink.marks.rangeBegin());
  const offsets = await listMatchingOffsets(parts, from, checkpoint);
  const unknownOffset = await parts.sink.marks.firstUnknown(offsets);
  if (unknownOffset !== undefined) throw extraUpdateError(unknownOffset, from);
}

/** The ledger ends before the stored checkpoint. It has another history, or is a replica that has not caught up yet. */
async function shorterLedgerError(
  parts: PipelineParts,
  checkpoint: number,
  seedOffset: number,
  bounds: LedgerState,
): Promise<IndexerError> {
  const { ledgerEnd, pruned } = bounds;
  if (ledgerEnd === 0) return emptyLedgerError(checkpoint);
  const newestStored = await parts.sink.marks.newest(Math.max(pruned, await parts.sink.marks.rangeBegin()), ledgerEnd);
  if (newestStored !== undefined) {
    const ledgerUpdateId = await updateIdAt(parts, newestStored.offset);
    if (ledgerUpdateId !== newestStored.updateId)
      return updateChangedError(newestStored, ledgerUpdateId, await lastCommon(parts, pruned, newestStored.offset - 1));
  }
  return new IndexerError(
    `the ledger ends at offset ${String(ledgerEnd)}, our checkpoint is already ${String(checkpoint)}`,
    {
      code: 'LEDGER_BEHIND_CHECKPOINT',
      remedy:
        'a lagging replica catches up automatically; if the participant was restored from a backup, ' +
        `run: ledger-indexer ${ledgerEnd < seedOffset ? 'reset --all' : `reset --to ${String(ledgerEnd)}`} --yes`,
      facts: { checkpoint, ledgerEnd },
    },
  );
}

/** The newest update up to `upTo` that both histories have, found by bisection. Undefined if there is none. */
async function lastCommon(parts: PipelineParts, pruned: number, upTo: number): Promise<UpdateMark | undefined> {
  let agreedOffset = Math.max(pruned, await parts.sink.marks.rangeBegin());
  let last = upTo;
  let commonUpdate: UpdateMark | undefined;
  while (agreedOffset < last) {
    const middle = agreedOffset + Math.ceil((last - agreedOffset) / 2);
    const updateMark = await parts.sink.marks.newest(agreedOffset, middle);
    if (updateMark === undefined || (await updateIdAt(parts, updateMark.offset)) === updateMark.updateId) {
      commonUpdate = updateMark ?? commonUpdate;
      agreedOffset = middle;
    } else last = updateMark.offset - 1;
  }
  return commonUpdate;
}

function updateChangedError(
  storedUpdate: UpdateMark,
  ledgerUpdateId: string | undefined,
  commonUpdate: UpdateMark | undefined,
): IndexerError {
  const { offset } = storedUpdate;
  const ledgerText = ledgerUpdateId === undefined ? 'no update' : 'another update';
  const commonText =
    commonUpdate === undefined
      ? 'no stored update is the same'
      : `both are the same up to offset ${String(commonUpdate.offset)}`;
  return new IndexerError(
    `the ledger has ${ledgerText} at offset ${String(offset)}, where we stored one; ${commonText}`,
    {
      code: 'HISTORY_CHANGED',
      remedy: commonUpdate === undefined ? noCommonHistoryRemedy : resetRemedy(commonUpdate.offset),
      facts: { offset, ...(commonUpdate === undefined ? {} : { commonOffset: commonUpdate.offset }) },
    },
  );
}

function resetRemedy(to: number): string {
  return (
    'the participant was restored from a backup, run: ' +
    `ledger-indexer reset --to ${String(to)} --yes (or index it into a new POSTGRES_SCHEMA)`
  );
}

const noCommonHistoryRemedy =
  'the participant was reset, was restored from before our history begins, or another one responds: if that one hosts the ' +
  'same parties, switch to it: ledger-indexer switch-participant --yes; otherwise index it into a new POSTGRES_SCHEMA and keep this one, or ' +
  'delete everything stored here: ledger-indexer reset --all --yes';

function extraUpdateError(offset: number, commonOffset: number): IndexerError {
  return new IndexerError(
    `the ledger has an update at offset ${String(offset)}, where we stored none; ` +
      `both are the same up to offset ${String(commonOffset)}`,
    {
      code: 'HISTORY_CHANGED',
      remedy: resetRemedy(commonOffset),
      facts: { offset, commonOffset },
    },
  );
}

function emptyLedgerError(checkpoint: number): IndexerError {
  return new IndexerError(`the ledger is empty, our checkpoint is ${String(checkpoint)}`, {
    code: 'HISTORY_CHANGED',
    remedy: noCommonHistoryRemedy,
    facts: { checkpoint, ledgerEnd: 0 },
  });
}

function prunedPastError(checkpoint: number, pruned: number): IndexerError {
  return new IndexerError(
    `the participant is pruned up to offset ${String(pruned)}, past our checkpoint ${String(checkpoint)}`,
    {
      code: 'LEDGER_PRUNED',
      exitCode: ExitCode.configuration,
      remedy:
        'the updates in between are gone from this participant, run: ' +
        'ledger-indexer reseed --yes (the gap is recorded in table coverage)',
      facts: { checkpoint, pruned },
    },
  );
}

// Compares active contracts. This is the last resort if neither the participant id nor any update can be compared.
// Contract ids are hashes that never occur on two ledgers, and the offset of a create belongs to this participant.

const maxComparedContracts = 3;

/**
 * Compares contracts that are active here, because a participant that is not pruned past the checkpoint knows them.
 * @throws IndexerError HISTORY_CHANGED (park) when the ledger knows none of the requested contracts, or knows one of
 * them at a different offset
 */
async function verifyByContracts(parts: PipelineParts): Promise<void> {
  const contractMarks = await parts.sink.marks.contracts(maxComparedContracts);
  let unknownCount = 0;
  for (const contractMark of contractMarks) {
    const offset = await createdAt(parts, contractMark);
    if (offset === contractMark.offset || offset === 'not readable') return;
    if (offset !== undefined) {
      throw otherHistoryError(
        `the ledger has at offset ${String(offset)} what we stored at ${String(contractMark.offset)}`,
      );
    }
    unknownCount += 1;
  }
  if (unknownCount > 0)
    throw otherHistoryError(`the ledger knows none of ${String(unknownCount)} contracts that are active here`);
}

/** Offset of the create; undefined if the ledger does not know the contract, `not readable` if it cannot be queried. */
async function createdAt(
  parts: PipelineParts,
  contractMark: ContractMark,
): Promise<number | undefined | 'not readable'> {
  const { ledger, filter } = parts;
  try {
    const format = eventFormat(filter);
    const events = await retryMissingRoute(parts, () => ledger.events.byContractId(contractMark.contractId, format));
    if (events === undefined) return undefined;
    return events.created?.createdEvent.offset ?? 'not readable';
  } catch (thrown) {
    const isRefused = thrown instanceof IndexerError && (thrown.retry === 'park' || thrown.code === 'LEDGER_INTERNAL');
    if (isRefused) return 'not readable';
    throw thrown;
  }
}

function otherHistoryError(problem: string): IndexerError {
  return new IndexerError(`${problem}; no update and no participant id could be compared`, {
    code: 'HISTORY_CHANGED',
    remedy:
      'another participant responds, or it was reset: if it hosts the same parties, switch to it: ledger-indexer switch-participant --yes; ' +
      'otherwise index it into a new POSTGRES_SCHEMA, or delete everything stored here: ledger-indexer reset --all --yes (granting ParticipantAdmin lets the participant id decide)',
  });
}
