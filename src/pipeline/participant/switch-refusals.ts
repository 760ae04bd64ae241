/** Reasons why a stream is not switched to another participant, with remedies. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';

interface Named {
  readonly synchronizerId: string;
  readonly updateId: string;
  readonly offset: number;
}

const describeUpdate = ({ offset, updateId, synchronizerId }: Named): string =>
  `update ${updateId} (stored at offset ${String(offset)}, synchronizer ${synchronizerId})`;

/** The error if the participant has none of the newest stored updates and none of the updates before them. */
export function noOverlap(newest: Named | undefined): IndexerError {
  const what =
    newest === undefined
      ? 'no stored update could be on both participants'
      : `it does not know ${describeUpdate(newest)}`;
  return new IndexerError(`the participant shares no update with what is stored: ${what}`, {
    code: 'SWITCH_NO_OVERLAP',
  });
}

/** The error if the participant has older stored updates but does not have the newest one yet. */
export function behind(newest: Named): IndexerError {
  return new IndexerError(
    `the participant does not yet return ${describeUpdate(newest)}, the newest of this synchronizer`,
    {
      code: 'SWITCH_BEHIND',
      facts: { offset: newest.offset },
    },
  );
}

export function prunedPast(pruned: number): IndexerError {
  return new IndexerError(
    `the participant is pruned up to its offset ${String(pruned)}, past the newest update that is stored here`,
    { code: 'SWITCH_PRUNED', facts: { pruned } },
  );
}

/** @param update the update, with its offset at the participant */
export function unknownUpdate({ offset, updateId, synchronizerId }: Named): IndexerError {
  const found = `update ${updateId === '' ? 'without an id' : updateId} at its offset ${String(offset)}`;
  return new IndexerError(
    `the participant has ${found}, before the newest that both have of synchronizer ${synchronizerId}; it is not stored here`,
    { code: 'SWITCH_UPDATE_UNKNOWN', facts: { offset } },
  );
}

export function notHosted(found: string): IndexerError {
  return new IndexerError(`the participant cannot return the data of the filter: ${found}`, {
    code: 'SWITCH_NOT_HOSTED',
  });
}

/**
 * Rethrows any failure. If rights are missing, the error says that the participant does not return the contracts of the
 * filter.
 */
export function refuseWithoutRights(thrown: unknown): never {
  const error = toIndexerError(thrown);
  throw error.code === 'LEDGER_PERMISSION_DENIED' ? notHosted(error.message) : error;
}
