/**
 * The interface to the ledger for the pipeline: the requests that indexing needs, and the function that opens a stream.
 * The client in src/ledger implements and documents them.
 */
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { FrameStream, FrameStreamOptions } from '../../ledger/transport/frame-stream.ts';

/** Each of these requests may reject with an IndexerError. */
export interface LedgerReads {
  readonly node: Pick<LedgerClient['node'], 'version'>;
  readonly state: Pick<LedgerClient['state'], 'ledgerEnd' | 'latestPrunedOffsets' | 'activeContracts'>;
  readonly updates: Pick<LedgerClient['updates'], 'byOffset' | 'list'>;
  readonly events: Pick<LedgerClient['events'], 'byContractId'>;
  readonly parties: Pick<LedgerClient['parties'], 'participantId' | 'get' | 'list'>;
  readonly packages: Pick<LedgerClient['packages'], 'content'>;
}

/** Opens one stream. No callback is called before this function has returned. */
export type OpenStream = (
  stream: Pick<FrameStreamOptions, 'path' | 'request' | 'token' | 'onFrame' | 'onEnd' | 'onOpen'>,
) => FrameStream;
