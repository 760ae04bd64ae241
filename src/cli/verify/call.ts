/** What a comparison with the ledger works with. */
import type { LedgerClient } from '../../ledger/client.ts';
import type { LedgerFilter } from '../../ledger/request-format.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { frames, type StreamCall } from '../ledger/streams.ts';
import { IndexerError, ExitCode } from '../../errors.ts';

export interface VerifyCall extends StreamCall {
  readonly snapshot: Snapshot;
  readonly client: LedgerClient;
  /** The filter the tables were filled with. */
  readonly filter: LedgerFilter;
  /** Told how many entries were read so far. */
  progress(what: string, read: number): void;
}

/** Frames of a stream until its clean end. @throws IndexerError INTERRUPTED when stopped before */
export async function* wholeStream(
  call: VerifyCall,
  path: '/v2/updates' | '/v2/state/active-contracts',
  request: object,
): AsyncGenerator<readonly string[]> {
  let read = 0;
  for await (const texts of frames(call, path, request)) {
    yield texts;
    read += texts.length;
    call.progress(path, read);
  }
  if (!call.stop.aborted) return;
  throw new IndexerError('the comparison was interrupted before its end', {
    code: 'INTERRUPTED',
    retry: 'fatal',
    exitCode: ExitCode.undecided,
    remedy: 'run `ledger-indexer verify` again',
  });
}
