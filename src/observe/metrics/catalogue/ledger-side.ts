/** Metrics of connections and requests to the participant. */
import { counter, gauge, histogram } from './description.ts';

/** Endpoints that the running program calls. Any other endpoint is counted as `other`. */
export const endpoints = [
  '/v2/version',
  '/v2/state/ledger-end',
  '/v2/state/latest-pruned-offsets',
  '/v2/parties/participant-id',
  '/v2/packages/{package-id}',
  '/v2/updates/update-by-offset',
  '/v2/events/events-by-contract-id',
  'other',
] as const;
/** HTTP statuses that have their own label value. `none` means that there was no response. */
export const statuses = ['200', '400', '401', '403', '404', '413', '429', '500', '503', 'other', 'none'] as const;
const disconnectCodes = [
  '1000',
  '1001',
  '1006',
  '1008',
  '1011',
  'error_frame',
  'no_pong',
  'stopped',
  'renewed',
] as const;

export const ledgerSide = {
  connectedStreams: gauge({
    name: 'ws_connected',
    help: '1 while a stream of the ledger is open.',
    use: '0 while live or catching_up: it is being reopened.',
  }),
  connects: counter({
    name: 'ws_connects_total',
    help: 'Attempts to open a stream, by result.',
    use: 'More than a few in ten minutes: the connection is unstable.',
    labels: { result: ['connected', 'failed'] },
  }),
  disconnects: counter({
    name: 'ws_disconnects_total',
    help: 'Streams that ended, by close code.',
    use: '1006: closed by the network or a proxy. no_pong: no reply to pings. error_frame: the log has the reason.',
    labels: { code: { words: 'the close code of the socket, or a word', first: disconnectCodes } },
  }),
  bytesReceived: counter({
    name: 'bytes_received_total',
    help: 'Bytes of frames from the ledger.',
    use: 'rate() is the network load.',
  }),
  lastFrame: gauge({
    name: 'last_frame_timestamp_seconds',
    help: 'Time of the last frame from the ledger; 0 before the first.',
    use: 'Older than two minutes while the ledger end grows: the stream is reopened automatically.',
  }),
  httpRequests: counter({
    name: 'ledger_requests_total',
    help: 'HTTP requests to the ledger, by endpoint and status.',
    use: 'Any status but 200: the log has request and remedy.',
    labels: { endpoint: endpoints, status: statuses },
  }),
  httpSeconds: histogram({
    name: 'ledger_request_seconds',
    help: 'Time of HTTP requests to the ledger, to the last byte or the failure.',
    use: 'Growing at ledger-end: the participant is overloaded.',
    labels: { endpoint: endpoints },
  }),
  accessTokenExpiry: gauge({
    name: 'access_token_expiry_timestamp_seconds',
    help: 'When the access token in use expires; NaN if unknown.',
    use: 'Alert if less than five minutes remain: it is renewed at 80 % of its lifetime.',
    // The value 0 would mean that the token expired long ago, and would trigger the alert.
    initial: Number.NaN,
  }),
  accessTokenRenewals: counter({
    name: 'access_token_renewals_total',
    help: 'Streams reopened with a newer access token.',
    use: 'Growing: renewal works.',
  }),
  participantPrunedOffset: gauge({
    name: 'participant_pruned_offset',
    help: 'Offset up to which the participant has pruned; 0 if never.',
    use: 'Above the checkpoint, updates are lost.',
  }),
  pruneHeadroom: gauge({
    name: 'prune_headroom_offsets',
    help: 'Checkpoint minus participant_pruned_offset; NaN if unknown.',
    use: 'Below 0, updates are lost that were not stored. Alert earlier if it shrinks.',
    // The value 0 would mean that updates are about to be lost.
    initial: Number.NaN,
  }),
};
