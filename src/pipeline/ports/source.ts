/**
 * The ledger as the pipeline uses it: its requests, and how a stream is opened. These are calls of the client of
 * src/ledger, where each is described; listed here are those that indexing needs.
 */
import type { LedgerClient } from '../../ledger/api/client.ts';
import type { FrameStream, FrameStreamOptions } from '../../ledger/transport/frame-stream.ts';

/** Any of them may reject with an IndexerError. */
export interface LedgerQuestions {
  readonly node: Pick<LedgerClient['node'], 'version'>;
  readonly state: Pick<LedgerClient['state'], 'ledgerEnd' | 'latestPrunedOffsets' | 'activeContracts'>;
  readonly updates: Pick<LedgerClient['updates'], 'byOffset' | 'list'>;
  readonly events: Pick<LedgerClient['events'], 'byContractId'>;
  readonly parties: Pick<LedgerClient['parties'], 'participantId' | 'get' | 'list'>;
  readonly packages: Pick<LedgerClient['packages'], 'content'>;
}

/** Opens one stream; no callback is called before this has returned. */
export type OpenStream = (
  stream: Pick<FrameStreamOptions, 'path' | 'request' | 'token' | 'onFrame' | 'onEnd' | 'onOpen'>,
) => FrameStream;
