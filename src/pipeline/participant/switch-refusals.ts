/** Reasons why a stream is not switched to another participant, with remedies. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';

interface SynchronizerUpdate {
  readonly synchronizerId: string;
  readonly updateId: string;
  readonly offset: number;
}

const describeUpdate = ({ offset, updateId, synchronizerId }: SynchronizerUpdate): string =>
  `update ${updateId} (stored at offset ${String(offset)}, synchronizer ${synchronizerId})`;

/** The error if the participant has none of the newest stored updates and none of the updates before them. */
export function noOverlapError(newest: SynchronizerUpdate | undefined): IndexerError {
  const reason =
    newest === undefined
      ? 'no stored update could be on both participants'
      : `it does not know ${describeUpdate(newest)}`;
  return new IndexerError(`the participant shares no update with what is stored: ${reason}`, {
    code: 'SWITCH_NO_OVERLAP',
  });
}

/** The error if the participant has older stored updates but does not have the newest one yet. */
export function notCaughtUpError(newest: SynchronizerUpdate): IndexerError {
  return new IndexerError(
    `the participant does not yet return ${describeUpdate(newest)}, the newest of this synchronizer`,
    {
      code: 'SWITCH_BEHIND',
      facts: { offset: newest.offset },
    },
  );
}

export function prunedPastError(pruned: number): IndexerError {
  return new IndexerError(
    `the participant is pruned up to its offset ${String(pruned)}, past the newest update that is stored here`,
    { code: 'SWITCH_PRUNED', facts: { pruned } },
  );
}

/** @param update the update, with its offset at the participant */
export function unknownUpdate({ offset, updateId, synchronizerId }: SynchronizerUpdate): IndexerError {
  const updateLabel = `update ${updateId === '' ? 'without an id' : updateId} at its offset ${String(offset)}`;
  return new IndexerError(
    `the participant has ${updateLabel}, before the newest that both have of synchronizer ${synchronizerId}; it is not stored here`,
    { code: 'SWITCH_UPDATE_UNKNOWN', facts: { offset } },
  );
}

export function notHostedError(problem: string): IndexerError {
  return new IndexerError(`the participant cannot return the data of the filter: ${problem}`, {
    code: 'SWITCH_NOT_HOSTED',
  });
}

/**
 * Rethrows any failure. If rights are missing, the error says that the participant does not return the contracts of the
 * filter.
 */
export function throwRightsError(thrown: unknown): never {
  const error = toIndexerError(thrown);
  throw error.code === 'LEDGER_PERMISSION_DENIED' ? notHostedError(error.message) : error;
}
