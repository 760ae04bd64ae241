/** Is it keeping up? */
import { phases } from '../../../model/stream.ts';
import { tables } from '../../../model/tables.ts';
import { unknownKinds } from '../../../model/unknown.ts';
import { workParts } from '../../figures/work-clock.ts';
import { counter, gauge, histogram } from './description.ts';

/** Kinds of updates; anything else counts as unknown. */
export const updateKinds = ['transaction', 'reassignment', 'topology', 'offset_checkpoint', 'unknown'] as const;
const eventTypes = ['created', 'archived', 'exercised', 'assigned', 'unassigned', 'topology'] as const;
const probeAnswers = ['empty', 'undelivered', 'obsolete', 'refused'] as const;
const bufferUnits = ['updates', 'bytes'] as const;

export const state = {
  phase: gauge({
    name: 'phase',
    help: 'What the indexer is doing; exactly one phase is 1.',
    use: 'Alert on parked: an operator is needed.',
    labels: { phase: phases },
  }),
  leader: gauge({
    name: 'leader',
    help: '1 while this process is the one that writes.',
    use: 'The sum over all processes of one stream must be 1, or 0 while one takes over; see stream_info.',
  }),
  streamInfo: gauge({
    name: 'stream_info',
    help: 'Which stream this process reads and where it writes; always 1.',
    use: 'Join it to others: sum by (database, schema) (indexer_leader * on (job, instance) group_left (database, schema) indexer_stream_info) > 1 means two writers.',
    labels: {
      database: { words: 'host:port/name, no user and no password' },
      schema: { words: 'the schema that holds the tables' },
      participant: { words: "the participant's id; empty until it is known" },
    },
  }),
  ledgerEnd: gauge({
    name: 'ledger_end_offset',
    help: 'Offset of the ledger end when last asked.',
    use: 'Minus the checkpoint: how many offsets are missing. Asked every 5 s, and as often as INDEXER_IDLE_PROBE_AFTER says while the stream is silent.',
  }),
  ledgerEndTime: gauge({
    name: 'ledger_end_timestamp_seconds',
    help: 'When the ledger end was last learned; 0 before the first time.',
    use: 'time() minus it is its age: alert above 60 s while live or catching_up; nothing is known of the ledger then.',
  }),
  checkpoint: gauge({
    name: 'checkpoint_offset',
    help: 'Offset up to which everything is stored.',
    use: 'Must move while the ledger end is ahead of it; deriv() of it is the speed in offsets.',
  }),
  seedOffset: gauge({
    name: 'seed_offset',
    help: 'Offset at which the active contracts were read; 0 when not by this process.',
    use: 'Events before it are not stored.',
  }),
  seedDone: gauge({
    name: 'seed_done',
    help: '1 once the active contracts are stored.',
    use: 'Until it is 1 nothing in the database counts.',
  }),
  lastRecord: gauge({
    name: 'last_record_timestamp_seconds',
    help: 'Record time of the newest update or OffsetCheckpoint stored; 0 before the first.',
    use: 'time() minus it is the freshness. A quiet ledger sends an OffsetCheckpoint about once a minute.',
  }),
  lastCommit: gauge({
    name: 'last_commit_timestamp_seconds',
    help: 'Time of the last commit; 0 before the first.',
    use: 'Old, while frames are new: the database holds the stream up.',
  }),
  bufferUsed: gauge({
    name: 'buffer_used',
    help: 'What waits in memory, updates or bytes.',
    use: 'Divided by the capacity: near 1 the database or the decoder is slower than the ledger.',
    labels: { unit: bufferUnits },
  }),
  bufferCapacity: gauge({
    name: 'buffer_capacity',
    help: 'What may wait in memory before the ledger is made to wait; 0 before the first batch.',
    use: 'INDEXER_BUFFER_UPDATES and INDEXER_BUFFER_BYTES.',
    labels: { unit: bufferUnits },
  }),
};

export const flow = {
  updates: counter({
    name: 'updates_total',
    help: 'Updates stored, by kind.',
    use: 'rate() of it is the throughput.',
    labels: { kind: updateKinds },
  }),
  events: counter({
    name: 'events_total',
    help: 'Events stored, by type and template.',
    use: 'Which templates make the load.',
    labels: {
      type: eventTypes,
      template: { words: 'package:Module:Entity of the fifty seen first, then other', first: ['other'] },
    },
  }),
  rows: counter({
    name: 'rows_written_total',
    help: 'Rows written, by table.',
    use: 'What the database has to store.',
    labels: { table: Object.keys(tables) },
  }),
  seedContracts: counter({
    name: 'seed_contracts_total',
    help: 'Active contracts stored by the seed.',
    use: 'rate() of it is the speed of the seed; the ledger does not tell how many there are.',
  }),
  streamSeconds: counter({
    name: 'stream_seconds_total',
    help: 'Where the time of the stream goes: waiting for frames, decoding them, or waiting for commits.',
    use: 'rate() of it is a share of the time. The largest says why you are behind; on a quiet ledger source is near 1.',
    labels: { activity: workParts },
  }),
  backpressure: counter({
    name: 'backpressure_seconds_total',
    help: 'Time the ledger was made to wait.',
    use: 'Above half of the time for long: the indexer or the database is too slow for this ledger.',
  }),
  latency: histogram({
    name: 'ingest_latency_seconds',
    help: 'Record time to commit, while live.',
    use: 'histogram_quantile() for a service level. It holds the difference of two clocks.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300],
  }),
  decode: histogram({
    name: 'decode_seconds',
    help: 'Parsing and building the rows of one batch.',
    use: 'When stream_seconds_total says decode: the processor is the limit.',
  }),
  batchUpdates: histogram({
    name: 'batch_updates',
    help: 'Updates in one batch.',
    use: 'Small batches mean that it keeps up; full ones (INDEXER_BATCH_UPDATES) that it does not.',
    buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000],
  }),
  idleProbes: counter({
    name: 'idle_probes_total',
    help: 'Stretches from the checkpoint to the ledger end that were asked for while the stream was silent, by answer.',
    use: 'empty: offsets that show us nothing, and the checkpoint moved there; undelivered, rising: the stream does not bring what is there; refused: the log says why.',
    labels: { result: probeAnswers },
  }),
  quarantined: counter({
    name: 'quarantined_total',
    help: 'Updates set aside because they could not be stored.',
    use: 'Alert on any increase: table quarantine names the offsets and reasons.',
  }),
  unknown: counter({
    name: 'unknown_total',
    help: 'What the ledger sent and this version does not know: kinds of updates and topology events, stored raw, and fields, not stored.',
    use: 'The names in it say what a newer participant sends; the log has the offset of the first.',
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
    help: 'Different names among them since the start of the process.',
    use: 'Alert above 0: look for a newer version of this program.',
    labels: { kind: unknownKinds },
  }),
  fallbackDecodedTransactions: counter({
    name: 'fallback_decoded_transactions_total',
    help: 'Transactions read by the slow reader because the quick one could not. What is stored is the same.',
    use: 'Above 1 % of the transactions of updates_total they cost too much CPU time: report it with the version of the participant.',
  }),
  outOfOrderUpdates: counter({
    name: 'out_of_order_updates_total',
    help: 'Updates stored that the ledger sent after later ones.',
    use: 'More than 0: look for a proxy that merges connections to different participants.',
  }),
  contractsUnhosted: gauge({
    name: 'contracts_unhosted',
    help: 'Contracts that are neither active nor ended: the last of their parties left the participant, which tells no more of them.',
    use: 'Above 0 it is no error: explore.contracts has them with status unhosted. When the parties are back, reseed.',
  }),
};
