/** Faults of the connection to the ledger. */
import type { Fault } from './fault.ts';

export const connectionFaults: readonly Fault[] = [
  {
    id: 'C01',
    fault: 'The connection is refused, or the host name cannot be resolved',
    indexer: 'Retries forever; live, not ready',
    tests: {
      'test/e2e/bad-input.slow.test.ts': ['retries without writes if the port is closed'],
      'test/faults/connection.long.test.ts': ['makes the indexer back off and retry'],
    },
  },
  {
    id: 'C02',
    fault: 'The ledger restarts, refuses connections, returns 503',
    indexer: 'Retries',
    tests: {
      'test/faults/connection.long.test.ts': ['is retried after connection resets and 503 responses'],
    },
  },
  {
    id: 'C03',
    fault: 'The connection breaks at any byte',
    indexer: 'Discards what is not written, retries',
    tests: {
      'test/faults/connection.long.test.ts': [
        'is reopened without losing updates when it breaks in the middle of a frame',
      ],
      'test/chaos/campaign.long.test.ts': [
        'the indexer stores the same rows when killed before every 40th message of both connections',
      ],
    },
  },
  {
    id: 'C04',
    fault: 'Half open: nothing arrives, nothing is closed',
    indexer: 'Closes it after two unanswered pings',
    tests: {
      'test/faults/connection.long.test.ts': ['is closed if pings get no response'],
    },
  },
  {
    id: 'C05',
    fault: 'A server or proxy closes idle connections',
    indexer: 'Keeps it open with a ping every `INDEXER_PING_INTERVAL`',
    tests: {
      'test/ledger/transport/frame-stream.test.ts': ['pings an idle ledger, and treats it as alive while it responds'],
    },
  },
  {
    id: 'C06',
    fault: 'Pings are answered, the stream is dead',
    indexer: 'Reopens it after 120 s without a frame while the ledger end rises',
    tests: {
      'test/faults/silence.slow.test.ts': ['an idle stream is reopened if the ledger end stays past the checkpoint'],
    },
  },
  {
    id: 'C07',
    fault: 'A pause of the indexer looks like a dead ledger',
    indexer: 'Keeps pinging, and tolerates missing pongs while paused',
    tests: {
      'test/ledger/transport/frame-stream.test.ts': [
        'continues to ping while the stream is paused and after it is resumed',
        'disconnects from a ledger that does not respond to pings after a pause',
      ],
    },
  },
  {
    id: 'C08',
    fault: 'The ledger sends faster than Postgres writes',
    indexer: 'Pauses the socket; memory stays bounded',
    tests: {
      'test/pipeline/inbox.test.ts': ['pauses the socket once when full, and resumes it when half is free'],
      'test/faults/process.long.test.ts': ['stays below 300 MiB while the ledger sends 400 MB'],
    },
  },
  {
    id: 'C09',
    fault: 'A frame larger than `LEDGER_MAX_FRAME_BYTES`',
    indexer: 'Stores what came before, parks with its position',
    tests: {
      'test/faults/connection.long.test.ts': [
        'parks the indexer with its position if it exceeds LEDGER_MAX_FRAME_BYTES',
      ],
    },
  },
  {
    id: 'C10',
    fault: 'A small compressed frame that becomes a large one',
    indexer: 'Never offers compression',
    tests: {
      'test/faults/connection.long.test.ts': ['is not offered in the handshake'],
    },
  },
  {
    id: 'C11',
    fault: 'A frame that is truncated, not UTF-8 or binary',
    indexer: 'Requests it again, then parks with its position',
    tests: {
      'test/faults/connection.long.test.ts': [
        'is requested again, then parks the indexer, if it is %s',
        'is stored on the second attempt if it is damaged once (%s)',
      ],
    },
  },
  {
    id: 'C12',
    fault: 'A frame in fragments; an unknown kind of update; missing fields',
    indexer: 'Joins them; stores it raw, or parks if it names contracts; treats them as absent',
    tests: {
      'test/faults/connection.long.test.ts': [
        'is read completely if it arrives in two fragments',
        'is stored and counted as unknown if its kind is unknown',
      ],
      'test/ledger/frames/decode.test.ts': ['accepts a missing field or reports its path and offset: %s'],
      'test/faults/unknown.slow.test.ts': ['parks the indexer if an update of an unknown kind names contracts'],
    },
  },
  {
    id: 'C13',
    fault: 'Any damaged frame',
    indexer: 'Decodes or refuses it, and fails in no other way',
    tests: {
      'test/fuzz/decoder.long.test.ts': ['the decoder decodes or rejects each of'],
      'test/ledger/frames/decode.test.ts': ['decode or reject truncated or patched text, without any other error'],
    },
  },
  {
    id: 'C14',
    fault: 'The stream closes cleanly (1000, 1001, 1011)',
    indexer: 'Reopens it, because updates have no end',
    tests: {
      'test/faults/connection.long.test.ts': ['is reopened after a close with 1000, 1001 or 1011'],
    },
  },
  {
    id: 'C15',
    fault: 'An error frame, then a close',
    indexer: 'Follows the error, not the close code, also if the error has no text',
    tests: {
      'test/ledger/transport/frame-stream.test.ts': [
        'end with the error of an error frame, even if a clean close follows',
      ],
      'test/faults/connection.long.test.ts': ['are recognized by their code if they have no message'],
    },
  },
  {
    id: 'C16',
    fault: 'Repeated internal errors of the ledger',
    indexer: 'Retries; parks after the twentieth without progress',
    tests: {
      'test/faults/connection.long.test.ts': ['park the indexer after twenty internal errors without progress'],
    },
  },
  {
    id: 'C17',
    fault: 'An update or an OffsetCheckpoint arrives twice',
    indexer: 'Drops the repetition',
    tests: {
      'test/faults/connection.long.test.ts': ['ignores repeated updates and checkpoints'],
      'test/faults/order.slow.test.ts': ['permits a repeated update at its offset'],
    },
  },
  {
    id: 'C18',
    fault: 'Updates out of order',
    indexer: 'Writes nothing of the batch, retries, parks the third time',
    tests: {
      'test/faults/connection.long.test.ts': [
        'parks the indexer if the order is wrong three times',
        'accepts a correct order on the second attempt',
      ],
    },
  },
  {
    id: 'C19',
    fault: 'An update at or below an OffsetCheckpoint',
    indexer:
      'As out of order. If the OffsetCheckpoint is committed, stores the update at its offset, provided the ledger has it there',
    tests: {
      'test/faults/order.slow.test.ts': [
        'causes the rejection of its batch if an update %s its offset follows',
        'does not hide an earlier update that arrives after its commit',
      ],
    },
  },
  {
    id: 'C20',
    fault: 'The stream of active contracts is interrupted, or closed with another code than 1000',
    indexer: 'Continues after the last stored token, or starts over; publishes nothing before the end',
    tests: {
      'test/faults/seed.slow.test.ts': ['stores the same rows if its stream is repeatedly %s'],
    },
  },
  {
    id: 'C21',
    fault: 'The ledger advances during the seed',
    indexer: 'Opens the stream at the stored offset of the seed',
    tests: {
      'test/faults/seed.slow.test.ts': ['ends at the start offset of the stream while the ledger adds updates'],
    },
  },
  {
    id: 'C22',
    fault: 'The offset of the seed is pruned during the seed',
    indexer: 'Starts over at a new ledger end',
    tests: {
      'test/history/parks.long.test.ts': ['restarts a seed without a park'],
    },
  },
  {
    id: 'C23',
    fault: 'A list longer than the ledger sends (413)',
    indexer: 'The indexer reads streams, which have no such limit; `ledger` commands report it',
    tests: {
      'test/ledger/api/api-sandbox.test.ts': [
        'rejects a list that is longer than the node permits or begins after the ledger end',
      ],
    },
  },
  {
    id: 'C24',
    fault: 'Overload (429, 503, RESOURCE_EXHAUSTED)',
    indexer: 'Retries',
    tests: {
      'test/e2e/ledger-errors.slow.test.ts': [
        'retries ledger-end requests rejected with RESOURCE_EXHAUSTED, without parking',
        'resumes after every transient error frame, and stores the same rows as without errors',
      ],
    },
  },
  {
    id: 'C25',
    fault: 'A replica that lags behind the checkpoint',
    indexer: 'Waits for five minutes, then parks',
    tests: {
      'test/history/parks.long.test.ts': [
        'makes the indexer back off, and is followed again after it catches up',
        'parks the indexer after five minutes',
      ],
    },
  },
  {
    id: 'C26',
    fault: 'The URL leads to another server, or https meets plain http',
    indexer: 'Parks',
    tests: {
      'test/e2e/bad-input.slow.test.ts': [
        'parks without writes if the URL is a web server that is not a ledger',
        'parks without writes if the URL is https and the port is plain http',
      ],
    },
  },
  {
    id: 'C27',
    fault: 'A gateway closes the stream of active contracts with 1000 before its end',
    indexer:
      'Confirms a list complete before it counts: continues after the last token, or reads it again; parks without progress',
    tests: {
      'test/faults/cut-lists.long.test.ts': [
        'is resumed after each early close, and published when it is complete',
        'is read again after each early close',
        'is not read again after a crash before the completeness check',
        'parks the indexer if HTTP returns no list and the gateway closes %s',
      ],
    },
  },
  {
    id: 'C28',
    fault: 'A gateway does the same during a command',
    indexer: 'Ends no contract, reports neither equal nor different, never prints a partial list as complete',
    tests: {
      'test/faults/cut-reads.long.test.ts': [
        'ends only contracts missing in the complete list if a gateway closes lists early',
        'reports --acs as undecided if the list is not confirmed complete',
        'resumes --range after an early close, and reports no surplus rows',
        'prints the complete list of acs, or fails',
      ],
    },
  },
  {
    id: 'C29',
    fault: 'Offsets without an update: rejected commands, updates outside of the filter',
    indexer:
      'Requests the range up to the ledger end in two ways after `INDEXER_IDLE_PROBE_AFTER` without a frame. If both return nothing, moves the checkpoint',
    tests: {
      'test/faults/idle-probe.long.test.ts': [
        'are passed, so that /wait and wait_for_offset return',
        'are passed after rejected commands, and with a filter that matches no update',
      ],
    },
  },
  {
    id: 'C30',
    fault: 'An update that the stream has not sent yet, hidden by a gateway or an old response',
    indexer: 'Moves nothing; the stream sends it',
    tests: {
      'test/faults/idle-probe.long.test.ts': [
        'is not skipped when it %s, and is stored once',
        'is not skipped after a response that is older than the newest frame',
        'is assumed while the ledger rejects probes, which is logged once',
      ],
    },
  },
  {
    id: 'C31',
    fault: 'The same update hidden by both responses',
    indexer: 'Stores it at its offset when it arrives, as C19',
    tests: {
      'test/faults/idle-probe.long.test.ts': ['is stored at its offset if neither response contained it'],
    },
  },
  {
    id: 'C32',
    fault: 'The participant is away for a long time and returns',
    indexer: 'Tries to connect at least every two seconds; few log lines',
    tests: {
      'test/e2e/away.long.test.ts': ['retries every few seconds with few log lines'],
      'test/observe/doubling.test.ts': [
        'writes a line at once and then at doubling intervals, with the number of skipped lines',
      ],
    },
  },
  {
    id: 'C33',
    fault: 'The ledger or a proxy sends Retry-After',
    indexer: 'Waits that long, for at most five minutes',
    tests: {
      'test/e2e/away.long.test.ts': [
        'delays the next request: %s',
        'delays ledger-end requests without closing the stream',
      ],
    },
  },
  {
    id: 'C34',
    fault: 'A gateway drops the header Sec-WebSocket-Protocol',
    indexer: 'Parks, and names the header',
    tests: {
      'test/ledger/transport/refused-stream.test.ts': [
        'reports that a gateway dropped the header Sec-WebSocket-Protocol',
      ],
    },
  },
];
