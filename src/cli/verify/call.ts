/** What a comparison with the ledger works with. */
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import type { ReadCall } from '../ledger/whole-reads.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

export interface VerifyCall extends ReadCall {
  readonly snapshot: Snapshot;
  /** The filter the tables were filled with. */
  readonly filter: LedgerFilter;
  /** Told how many entries were read so far. */
  progress(what: string, read: number): void;
}

/**
 * All of a read that ends by itself, counted for whoever waits.
 * @throws IndexerError INTERRUPTED when stopped before its end; LEDGER_CUT_SHORT when it is not proven complete
 */
export async function* whole<T>(
  call: VerifyCall,
  path: '/v2/updates' | '/v2/state/active-contracts',
  reading: AsyncIterable<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  let read = 0;
  for await (const some of reading) {
    yield some;
    read += some.length;
    call.progress(path, read);
  }
  if (!call.stop.aborted) return;
  throw new IndexerError('the comparison was interrupted before its end', {
    code: 'INTERRUPTED',
    exitCode: ExitCode.undecided,
    remedy: 'run `ledger-indexer verify` again',
  });
}
