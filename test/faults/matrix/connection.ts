/** Faults of the connection to the ledger. */
import type { Fault } from './fault.ts';

export const connectionFaults: readonly Fault[] = [
  {
    id: 'C01',
    fault: 'The connection is refused, or the host name cannot be resolved',
    indexer: 'Retries forever; live, not ready',
    tests: {
      'test/e2e/bad-input.slow.test.ts': ['is retried without writes when the port is closed'],
      'test/faults/connection.long.test.ts': ['is retried indefinitely, because the name may become resolvable again'],
    },
  },
  {
    id: 'C02',
    fault: 'The ledger restarts, refuses connections, returns 503',
    indexer: 'Retries',
    tests: {
      'test/faults/connection.long.test.ts': ['is retried after RST, a timeout or a response of 503'],
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
        'the indexer stores the same rows when it is killed before every fortieth message of both connections',
      ],
    },
  },
  {
    id: 'C04',
    fault: 'Half open: nothing arrives, nothing is closed',
    indexer: 'Closes it after two unanswered pings',
    tests: {
      'test/faults/connection.long.test.ts': ['is closed when it is half open and pings get no response'],
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
      'test/faults/silence.slow.test.ts': [
        'a stream without updates is reopened when the ledger end stays past the checkpoint',
      ],
    },
  },
  {
    id: 'C07',
    fault: 'A pause of the indexer looks like a dead ledger',
    indexer: 'Keeps pinging, and tolerates missing pongs while paused',
    tests: {
      'test/ledger/transport/frame-stream.test.ts': [
        'continues to ping while the stream is paused, does not time out, and the stream can be resumed',
        'disconnects from a ledger that does not respond to pings after a pause',
      ],
    },
  },
  {
    id: 'C08',
    fault: 'The ledger sends faster than Postgres writes',
    indexer: 'Pauses the socket; memory stays bounded',
    tests: {
      'test/pipeline/inbox.test.ts': [
        'pauses the socket once when full and resumes it when half is free, by frames and by bytes',
      ],
      'test/faults/process.long.test.ts': ['stays within its memory, because buffers are bounded'],
    },
  },
  {
    id: 'C09',
    fault: 'A frame larger than `LEDGER_MAX_FRAME_BYTES`',
    indexer: 'Stores what came before, parks with its position',
    tests: {
      'test/faults/connection.long.test.ts': [
        'larger than LEDGER_MAX_FRAME_BYTES parks the indexer with its position, after everything before it is stored',
      ],
    },
  },
  {
    id: 'C10',
    fault: 'A small compressed frame that becomes a large one',
    indexer: 'Never offers compression',
    tests: {
      'test/faults/connection.long.test.ts': ['is never offered, so that a small frame cannot expand into a large one'],
    },
  },
  {
    id: 'C11',
    fault: 'A frame that is truncated, not UTF-8 or binary',
    indexer: 'Requests it again, then parks with its position',
    tests: {
      'test/faults/connection.long.test.ts': [
        'that is %s is requested again, then parks the indexer with its position',
        'that is damaged once (%s) is stored when it is sent again',
      ],
    },
  },
  {
    id: 'C12',
    fault: 'A frame in fragments; an unknown kind of update; missing fields',
    indexer: 'Joins them; stores it raw, or parks if it names contracts; treats them as absent',
    tests: {
      'test/faults/connection.long.test.ts': [
        'in two fragments is read as one frame',
        'of an unknown kind is stored unchanged',
      ],
      'test/ledger/frames/decode.test.ts': ['accepts an absent field, or rejects it with path and offset'],
      'test/faults/unknown.slow.test.ts': [
        'parks the stream with kind and offset if an update of an unknown kind names contracts',
      ],
    },
  },
  {
    id: 'C13',
    fault: 'Any damaged frame',
    indexer: 'Decodes or refuses it, and fails in no other way',
    tests: {
      'test/fuzz/decoder.long.test.ts': ['damaged frames is decoded or rejected'],
      'test/ledger/frames/decode.test.ts': ['are decoded or rejected if their text is truncated or patched'],
    },
  },
  {
    id: 'C14',
    fault: 'The stream closes cleanly (1000, 1001, 1011)',
    indexer: 'Reopens it, because updates have no end',
    tests: {
      'test/faults/connection.long.test.ts': ['is not treated as completed when it is closed with 1000, 1001 or 1011'],
    },
  },
  {
    id: 'C15',
    fault: 'An error frame, then a close',
    indexer: 'Follows the error, not the close code, also if the error has no text',
    tests: {
      'test/ledger/transport/frame-stream.test.ts': [
        'are distinguished from an error frame, and the error has precedence over a later clean close',
      ],
      'test/faults/connection.long.test.ts': ['are recognized even if they have no text'],
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
      'test/faults/connection.long.test.ts': ['permits repeated updates and checkpoints, which are ignored'],
      'test/faults/order.slow.test.ts': ['permits a repetition of an update at its offset'],
    },
  },
  {
    id: 'C18',
    fault: 'Updates out of order',
    indexer: 'Writes nothing of the batch, retries, parks the third time',
    tests: {
      'test/faults/connection.long.test.ts': [
        'is checked, and updates in wrong order are rejected and park the indexer the third time',
        'is accepted if a wrong order is corrected on the next attempt',
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
        'leads to the rejection of an update %s its offset, and nothing of the batch is stored',
        'does not hide an earlier update that arrives after its commit, and the update is stored at its offset',
      ],
    },
  },
  {
    id: 'C20',
    fault: 'The stream of active contracts is interrupted, or closed with another code than 1000',
    indexer: 'Continues after the last stored token, or starts over; publishes nothing before the end',
    tests: {
      'test/faults/seed.slow.test.ts': ['that is repeatedly %s stores the same rows as an undisturbed one'],
    },
  },
  {
    id: 'C21',
    fault: 'The ledger advances during the seed',
    indexer: 'Opens the stream at the stored offset of the seed',
    tests: {
      'test/faults/seed.slow.test.ts': ['ends at the offset at which the stream begins, however far the ledger moves'],
    },
  },
  {
    id: 'C22',
    fault: 'The offset of the seed is pruned during the seed',
    indexer: 'Starts over at a new ledger end',
    tests: {
      'test/history/parks.long.test.ts': ['restarts a seed at a new ledger end, without parking'],
    },
  },
  {
    id: 'C23',
    fault: 'A list longer than the ledger sends (413)',
    indexer: 'The indexer reads streams, which have no such limit; `ledger` commands report it',
    tests: {
      'test/ledger/api/api-sandbox.test.ts': [
        'reports an error if a list is longer than the node permits, or begins after the ledger end',
      ],
    },
  },
  {
    id: 'C24',
    fault: 'Overload (429, 503, RESOURCE_EXHAUSTED)',
    indexer: 'Retries',
    tests: {
      'test/e2e/ledger-errors.slow.test.ts': [
        'waits while requests are rejected because of load',
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
        'makes the indexer wait without a park, and is followed again when it has caught up',
        'parks the indexer after five minutes, with the command for a restored backup',
      ],
    },
  },
  {
    id: 'C26',
    fault: 'The URL leads to another server, or https meets plain http',
    indexer: 'Parks',
    tests: {
      'test/e2e/bad-input.slow.test.ts': [
        'parks the indexer without writes when the URL leads to a web server that is not a ledger',
        'parks the indexer without writes when the URL is https and the port is plain http',
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
        'is resumed after each early close, and published when the ledger has no more entries',
        'is read again from its beginning after an early close, until two readings agree',
        'is confirmed without being read again after a crash between its last entry and the check',
        'is not confirmed complete if HTTP does not return lists and the gateway closes %s',
      ],
    },
  },
  {
    id: 'C28',
    fault: 'A gateway does the same during a command',
    indexer: 'Ends no contract, reports neither equal nor different, never prints a partial list as complete',
    tests: {
      'test/faults/cut-reads.long.test.ts': [
        'behind a gateway that closes lists early ends only contracts that are missing in the complete list',
        'with --acs is undecided about a list that is not confirmed complete',
        'with --range resumes after an early close, and reports no surplus rows',
        'acs prints the complete list, or fails',
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
        'are passed soon: /wait and wait_for_offset return, and the indexer is caught up',
        'are passed if commands were rejected, and if the filter matches no update',
      ],
    },
  },
  {
    id: 'C30',
    fault: 'An update that the stream has not sent yet, hidden by a gateway or an old response',
    indexer: 'Moves nothing; the stream sends it',
    tests: {
      'test/faults/idle-probe.long.test.ts': [
        'is not passed when it %s, and is stored exactly once',
        'is not skipped because of a response that is older than the newest frame',
        'is not passed while the ledger rejects the requests, which is logged once',
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
      'test/e2e/away.long.test.ts': ['is followed within five seconds of its return'],
      'test/observe/doubling.test.ts': [
        'appear at once and then after intervals that double, with the number of suppressed lines',
      ],
    },
  },
  {
    id: 'C33',
    fault: 'The ledger or a proxy sends Retry-After',
    indexer: 'Waits that long, for at most five minutes',
    tests: {
      'test/e2e/away.long.test.ts': [
        'is honored, and no request is sent before it ends',
        'in the response to a ledger-end request does not affect the stream',
      ],
    },
  },
  {
    id: 'C34',
    fault: 'A gateway drops the header Sec-WebSocket-Protocol',
    indexer: 'Parks, and names the header',
    tests: {
      'test/ledger/transport/refused-stream.test.ts': [
        'reports the header that a gateway dropped from the response, and does not report the URL',
      ],
    },
  },
];
