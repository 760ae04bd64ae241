/** Metrics of the progress and throughput of the stream. */
import { phases } from '../../../model/stream.ts';
import { tables } from '../../../model/tables.ts';
import { unknownKinds } from '../../../model/unknown.ts';
import { allWorkParts } from '../../figures/work-clock.ts';
import { counter, gauge, histogram } from './description.ts';

/** Kinds of updates; any other kind is counted as unknown. */
export const updateKinds = ['transaction', 'reassignment', 'topology', 'offset_checkpoint', 'unknown'] as const;
const eventTypes = ['created', 'archived', 'exercised', 'assigned', 'unassigned', 'topology'] as const;
const probeAnswers = ['empty', 'undelivered', 'obsolete', 'refused'] as const;
const bufferUnits = ['updates', 'bytes'] as const;

export const state = {
  phase: gauge({
    name: 'phase',
    help: 'Phase of the indexer; exactly one is 1.',
    use: 'Alert on parked: it needs an operator.',
    labels: { phase: phases },
  }),
  leader: gauge({
    name: 'leader',
    help: '1 while this process is the writer.',
    use: 'The sum over all processes of a stream is 1, or 0 during a takeover; see stream_info.',
  }),
  streamInfo: gauge({
    name: 'stream_info',
    help: 'The stream this process reads and where it writes; always 1.',
    use: 'Join it to other metrics. More than one leader per database and schema: two writers.',
    labels: {
      database: { words: 'host:port/name, no user and no password' },
      schema: { words: 'the schema that holds the tables' },
      participant: { words: "the participant's id; empty until it is known" },
    },
  }),
  ledgerEnd: gauge({
    name: 'ledger_end_offset',
    help: 'Latest known ledger end.',
    use: 'Minus checkpoint_offset: how many offsets are missing. Polled every 5 s, and every INDEXER_IDLE_PROBE_AFTER while the stream is idle.',
  }),
  ledgerEndTime: gauge({
    name: 'ledger_end_timestamp_seconds',
    help: 'When the participant last returned the ledger end; 0 before the first time.',
    use: 'time() minus it above 60 s while live or catching_up: the state of the ledger is unknown.',
  }),
  checkpoint: gauge({
    name: 'checkpoint_offset',
    help: 'Offset up to which everything is stored.',
    use: 'Must grow while the ledger end is ahead; deriv() is the speed in offsets.',
  }),
  seedOffset: gauge({
    name: 'seed_offset',
    help: 'Offset at which this process read the active contracts; 0 if it did not.',
    use: 'Events before it are not stored.',
  }),
  seedDone: gauge({
    name: 'seed_done',
    help: '1 when the active contracts are stored.',
    use: 'Until then the tables are incomplete.',
  }),
  lastRecord: gauge({
    name: 'last_record_timestamp_seconds',
    help: 'Record time of the newest stored update or OffsetCheckpoint; 0 before the first.',
    use: 'time() minus it is the age of the data. A quiet ledger sends an OffsetCheckpoint about once a minute.',
  }),
  lastCommit: gauge({
    name: 'last_commit_timestamp_seconds',
    help: 'Time of the last commit; 0 before the first.',
    use: 'Old while frames are new: the database blocks the stream.',
  }),
  bufferUsed: gauge({
    name: 'buffer_used',
    help: 'Updates or bytes that wait in memory.',
    use: 'Near buffer_capacity: the database or the decoder is slower than the ledger.',
    labels: { unit: bufferUnits },
  }),
  bufferCapacity: gauge({
    name: 'buffer_capacity',
    help: 'Updates or bytes that may wait in memory before reading pauses; 0 before the first batch.',
    use: 'Set by INDEXER_BUFFER_UPDATES and INDEXER_BUFFER_BYTES.',
    labels: { unit: bufferUnits },
  }),
};

export const flow = {
  updates: counter({
    name: 'updates_total',
    help: 'Updates stored, by kind.',
    use: 'rate() is the throughput.',
    labels: { kind: updateKinds },
  }),
  events: counter({
    name: 'events_total',
    help: 'Events stored, by type and template.',
    use: 'Find the templates that cause the load.',
    labels: {
      type: eventTypes,
      template: { words: 'package:Module:Entity of the fifty seen first, then other', first: ['other'] },
    },
  }),
  rows: counter({
    name: 'rows_written_total',
    help: 'Rows written, by table.',
    use: 'rate() is the load of the database, by table.',
    labels: { table: Object.keys(tables) },
  }),
  seedContracts: counter({
    name: 'seed_contracts_total',
    help: 'Active contracts stored by the seed.',
    use: 'rate() is its speed; the ledger does not report how many there are.',
  }),
  streamSeconds: counter({
    name: 'stream_seconds_total',
    help: 'Time of the stream by activity: waiting for the ledger, decoding, or waiting for the database.',
    use: 'rate() is a share of the time. The largest is the bottleneck; on a quiet ledger, source is near 1.',
    labels: { activity: allWorkParts },
  }),
  backpressure: counter({
    name: 'backpressure_seconds_total',
    help: 'Time during which reading from the ledger was paused.',
    use: 'Above half of the time for long: the indexer or the database is too slow for this ledger.',
  }),
  latency: histogram({
    name: 'ingest_latency_seconds',
    help: 'Record time to commit, while live.',
    use: 'Use histogram_quantile() for a service level. Includes the difference of two clocks.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300],
  }),
  decode: histogram({
    name: 'decode_seconds',
    help: 'Time to parse a batch and build its rows.',
    use: 'If stream_seconds_total is mostly decode, the CPU is the limit.',
  }),
  batchUpdates: histogram({
    name: 'batch_updates',
    help: 'Updates per batch.',
    use: 'Small batches: it keeps up. Full ones (INDEXER_BATCH_UPDATES): it does not.',
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000],
  }),
  idleProbes: counter({
    name: 'idle_probes_total',
    help: 'Probes of the range from checkpoint to ledger end while the stream is idle, by result.',
    use: 'empty: nothing to store, the checkpoint moves. undelivered, growing: the stream does not deliver updates that exist. refused: see the log.',
    labels: { result: probeAnswers },
  }),
  quarantined: counter({
    name: 'quarantined_total',
    help: 'Updates quarantined because they could not be stored.',
    use: 'Alert on any increase; table quarantine has offsets and reasons.',
  }),
  unknown: counter({
    name: 'unknown_total',
    help: 'Content this version does not know: kinds of updates and topology events (stored raw), and fields (not stored).',
    use: 'The label name is the kind or field that a newer participant sends; the log has the first offset.',
    labels: {
      kind: unknownKinds,
      name: {
        words: "the ledger's name, a field as Message.field, of the fifty seen first, then other",
        first: ['other'],
      },
    },
  }),
  unknownNames: gauge({
    name: 'unknown_names',
    help: 'Distinct names in unknown_total since the process started.',
    use: 'Alert above 0: look for a newer version.',
    labels: { kind: unknownKinds },
  }),
  fallbackDecodedTransactions: counter({
    name: 'fallback_decoded_transactions_total',
    help: 'Transactions decoded by the slow decoder because the fast one could not. The stored rows are the same.',
    use: 'Above 1 % of the transactions they cost too much CPU: report it with the version of the participant.',
  }),
  outOfOrderUpdates: counter({
    name: 'out_of_order_updates_total',
    help: 'Stored updates that the ledger sent after later ones.',
    use: 'Above 0: look for a proxy that merges connections to different participants.',
  }),
  contractsUnhosted: gauge({
    name: 'contracts_unhosted',
    help: 'Contracts whose last party left the participant, which no longer reports their state.',
    use: 'Not an error: explore.contracts has them with status unhosted. When the parties are back, run reseed.',
  }),
};
