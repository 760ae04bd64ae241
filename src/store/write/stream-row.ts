/**
 * The stream row: the position of the indexer, and the fence that lets only one writer move it. Every change is a
 * compare-and-set on the epoch and the old value. If it changes no row, another writer has changed the row, and this
 * writer discards its memory.
 */
import type { ClientBase, QueryConfig } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ListSource, StreamIdentity, StreamState, UpdateMark } from '../../model/stream.ts';
import { markUnhostedAgain } from './departures.ts';
import { filterChanged, isUnused, storeFilter, describeFilterChange } from './filter-changed.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import type { Statement } from '../connection/round-trip.ts';

interface StreamRow {
  readonly participant_id: string | null;
  readonly filter: unknown;
  readonly filter_hash: string;
  readonly epoch: number;
  readonly seed_offset: number | null;
  readonly seeded_at: Date | null;
  readonly seed_token: string | null;
  readonly seed_contracts: number;
  readonly seed_release: string | null;
  readonly seed_has_in_flight: boolean | null;
  readonly checkpoint: number | null;
  readonly checkpoint_update_offset: number | null;
  readonly checkpoint_update_id: string | null;
  readonly handover: 'filling' | 'handed over' | null;
  readonly handover_peer: string | null;
}

/**
 * Takes over the stream: creates its row on first use, checks its identity, and raises the epoch.
 * @param sourceLabel label of the database that will hand over to this one, for the job that fills it; null for an
 * indexer
 * @throws IndexerError PARTICIPANT_CHANGED or FILTER_CHANGED (park) if the row belongs to another stream that has
 * history, STREAM_HANDED_OVER or STREAM_NOT_OPEN (park) if no indexer may write here
 */
export async function acquireStream(
  client: ClientBase,
  identity: StreamIdentity,
  writer: string,
  sourceLabel: string | null = null,
): Promise<StreamState> {
  const handover = sourceLabel === null ? null : 'filling';
  await client.query(
    `insert into stream (participant_id, filter, filter_hash, transaction_shape, handover, handover_peer)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [identity.participantId ?? null, identity.filter, identity.filterHash, identity.shape, handover, sourceLabel],
  );
  const { rows } = await client.query<StreamRow>('select * from stream for update');
  const row = rows[0];
  if (row === undefined) throw fencedError('the stream row vanished');
  assertHandoverState(row, handover);
  assertSameParticipant(row, identity);
  const filterDifferences = await assertFilterUnchanged(client, row, identity);
  const takenRows = await client.query<StreamRow>('update stream set epoch = epoch + 1, writer = $1 returning *', [
    writer,
  ]);
  return {
    ...stateOf(takenRows.rows[0] ?? row),
    ...(filterDifferences === undefined ? {} : { filterReplaced: filterDifferences }),
  };
}

function stateOf(row: StreamRow): StreamState {
  const { checkpoint_update_offset: offset, checkpoint_update_id: updateId } = row;
  return {
    epoch: row.epoch,
    participantId: row.participant_id,
    seedOffset: row.seed_offset,
    seeded: row.seeded_at !== null,
    seedToken: row.seed_token,
    seedContracts: row.seed_contracts,
    seedRelease: row.seed_release,
    seedHasInFlight: row.seed_has_in_flight,
    checkpoint: row.checkpoint,
    lastUpdate: offset === null || updateId === null ? undefined : { offset, updateId },
  };
}

/** Checks who may write here: an indexer, the job that fills the storage, or no one after a handover. */
function assertHandoverState({ handover, handover_peer: peer }: StreamRow, expectedHandover: 'filling' | null): void {
  if (handover === expectedHandover) return;
  if (handover === 'handed over') {
    throw new IndexerError(`this stream was handed over and continues in database ${String(peer)}`, {
      code: 'STREAM_HANDED_OVER',
      remedy:
        'set DATABASE_URL to that database; to come back to this one: ledger-indexer rebuild --into THIS_ONE --yes, with ' +
        'DATABASE_URL set to that one',
    });
  }
  if (handover === 'filling') {
    throw new IndexerError(`this schema is being filled, and database ${String(peer)} has not handed over to it yet`, {
      code: 'STREAM_NOT_OPEN',
      remedy:
        'none needed while ledger-indexer rebuild --into runs there: the indexer continues automatically once that is done',
    });
  }
  throw fencedError('the storage was handed over meanwhile');
}

function assertSameParticipant(row: StreamRow, identity: StreamIdentity): void {
  const { participant_id: storedId } = row;
  const { participantId } = identity;
  if (storedId !== null && participantId !== undefined && storedId !== participantId) {
    throw new IndexerError(`this schema holds participant ${storedId}, the ledger is participant ${participantId}`, {
      code: 'PARTICIPANT_CHANGED',
      remedy:
        'if it hosts the same parties, continue from it: ledger-indexer switch-participant --yes; otherwise restore LEDGER_URL, or index the ' +
        'other participant into a schema of its own (POSTGRES_SCHEMA)',
    });
  }
}

/**
 * Checks that the filter is the stored one. A first start may have stored a filter that the ledger refused: while
 * nothing is stored under it, the configured filter replaces it. Resolves to the differences if it was replaced.
 * @throws IndexerError FILTER_CHANGED (park)
 */
async function assertFilterUnchanged(
  client: ClientBase,
  row: StreamRow,
  identity: StreamIdentity,
): Promise<string | undefined> {
  if (row.filter_hash === identity.filterHash) return undefined;
  const previousFilter = JSON.stringify(row.filter);
  const { checkpoint, seed_contracts: seedContracts } = row;
  const seedState = { seeded: row.seeded_at !== null, checkpoint, seedContracts };
  if (!isUnused(seedState))
    throw await filterChanged(client, { ...seedState, filter: previousFilter }, identity.filter);
  await storeFilter(client, identity);
  return describeFilterChange(previousFilter, identity.filter);
}

/**
 * Raises the epoch for one change outside the order of the stream. The previous writer has to begin a new session.
 * @param epoch the epoch that must be in force; undefined accepts any
 */
export async function increaseEpoch(client: ClientBase, epoch: number | undefined): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>(
    'update stream set epoch = epoch + 1 where epoch = coalesce($1, epoch) returning epoch',
    [epoch ?? null],
  );
  if (rows[0] === undefined) throw fencedError('the epoch was taken over');
  return rows[0].epoch;
}

/** Locks the stream row until the transaction ends. @throws IndexerError WRITER_FENCED (fenced) under another epoch */
export async function assertEpoch(client: ClientBase, epoch: number): Promise<void> {
  const { rowCount } = await client.query('select from stream where epoch = $1 for update', [epoch]);
  if (rowCount !== 1) throw fencedError('the epoch was taken over');
}

/** Stores the id of the participant if none is stored yet. A stored id is never replaced. */
export async function storeParticipantId(client: ClientBase, epoch: number, participantId: string): Promise<void> {
  const { rowCount } = await client.query(
    'update stream set participant_id = $2 where epoch = $1 and participant_id is null',
    [epoch, participantId],
  );
  // Until now it was unknown which of the departed parties had left this participant.
  if (rowCount !== 1) return;
  const { rows } = await client.query<{ seed: number | null }>('select seed_offset as seed from stream');
  await markUnhostedAgain(client, (rows[0]?.seed ?? 0) + 1);
}

export interface CheckpointMove {
  readonly epoch: number;
  readonly from: number;
  readonly to: number;
  readonly lastUpdate: UpdateMark | undefined;
  readonly recordTimes: ReadonlyMap<string, string>;
}

/**
 * The newest of these times, compared as texts because a Date has no microseconds. Without their Z, times in UTC sort
 * like their texts.
 */
function newestOf(recordTimes: Iterable<string>): string | null {
  const [newest] = [...recordTimes].map((time) => time.replace(/Z$/, '')).sort((a, b) => (a < b ? 1 : -1));
  return newest === undefined ? null : `${newest}Z`;
}

/**
 * The statement that moves the checkpoint within a batch's transaction. It fails with IndexerError WRITER_FENCED
 * (fenced).
 */
export function checkpointStatement(move: CheckpointMove): Statement {
  const timesBySynchronizer = [...move.recordTimes.entries()];
  const newest = newestOf(move.recordTimes.values());
  const { offset = null, updateId = null } = move.lastUpdate ?? {};
  const recordTimes = JSON.stringify(Object.fromEntries(timesBySynchronizer));
  return compareAndSet({
    name: 'move-checkpoint',
    text: `update stream
              set checkpoint = $3,
                  checkpoint_update_offset = coalesce($4, checkpoint_update_offset),
                  checkpoint_update_id = coalesce($5, checkpoint_update_id),
                  checkpoint_record_time = greatest(checkpoint_record_time, $6),
                  record_times = record_times || $7
            where epoch = $1 and checkpoint = $2 and seeded_at is not null`,
    values: [move.epoch, move.from, move.to, offset, updateId, newest, recordTimes],
    found: `the checkpoint was no longer ${String(move.from)} or the epoch was taken over`,
  });
}

const divisionByZero = '22012';

/**
 * An update statement that fails unless it changes a row. Statements sent with it are then rolled back, although the
 * client does not wait for its result. The simplest way to fail in SQL is a division by the number of rows.
 */
export function compareAndSet(change: {
  readonly name: string;
  readonly text: string;
  readonly values: Statement['values'] & object;
  readonly found: string;
}): Statement {
  return {
    name: change.name,
    text: `with changed as (${change.text} returning 1) select 1 / count(*) from changed`,
    values: change.values,
    explain: (sqlstate) => (sqlstate === divisionByZero ? fencedError(change.found) : undefined),
  };
}

/**
 * For a history that begins without a list of active contracts: `hasInFlight` is true because no entries are missing.
 */
const unknownListSource: ListSource = { release: null, hasInFlight: true };

/**
 * Begins a seed at an offset, or begins it again. Rows of an earlier unfinished seed are removed.
 * @throws IndexerError WRITER_FENCED (fenced) if the seed is published or the epoch is not in force;
 * STORE_SCHEMA_MISMATCH (park) if history is stored although the stream row has no published seed
 */
export async function beginSeed(
  client: ClientBase,
  epoch: number,
  offset: number,
  { release, hasInFlight }: ListSource = unknownListSource,
): Promise<void> {
  // A function does this, so that the writer's role needs no right to truncate.
  const { rows } = await client.query<{ cleared: boolean }>('select clear_unfinished_seed($1) as cleared', [epoch]);
  await changeSeed(
    client,
    'seed_offset = $2, seed_token = null, seed_contracts = 0, seed_release = $3, seed_has_in_flight = $4',
    [epoch, offset, release, hasInFlight],
    'seeded_at is null',
  );
  if (rows[0]?.cleared !== true) throw historyExistsError();
}

function historyExistsError(): IndexerError {
  return new IndexerError(
    'expected no history before the seed is published, found rows in coverage, batches or updates',
    {
      code: 'STORE_SCHEMA_MISMATCH',
      remedy:
        'someone set stream.seeded_at to null: change the password of the writer, then restore the row from a backup, or ' +
        'run `ledger-indexer reset --all --yes` to index everything again',
    },
  );
}

/**
 * The statement that counts a seed batch and stores where an interrupted seed can continue. It fails with WRITER_FENCED
 * (fenced).
 */
export function seedStatement(epoch: number, from: number, entries: number, token: string | null): Statement {
  return compareAndSet({
    name: 'advance-seed',
    text: `update stream set seed_contracts = seed_contracts + $3, seed_token = $4
            where epoch = $1 and seed_contracts = $2 and seeded_at is null`,
    values: [epoch, from, entries, token],
    found: takenOverMessage,
  });
}

/** The newest offset at which a stored contract became active; undefined if no contract is stored. */
export async function newestActivation(client: ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ newest: number | null }>('select max("offset") as newest from contracts');
  return rows[0]?.newest ?? undefined;
}

/**
 * Publishes the seed: from now on the tables are valid, and updates follow after `offset`.
 * @param anchorMark an update up to `offset` that is used to compare histories until the first update is stored
 */
export async function publishSeed(
  client: ClientBase,
  epoch: number,
  offset: number,
  origin: string,
  anchorMark?: UpdateMark,
): Promise<void> {
  // Read without a lock on the stream row, because the ledger end is stored in it meanwhile.
  const { rowCount } = await client.query('select from stream where epoch = $1 and seeded_at is null', [epoch]);
  if (rowCount !== 1) throw fencedError(takenOverMessage);
  await assertNoDuplicates(client, offset);
  await changeSeed(
    client,
    `seed_offset = $2, checkpoint = $2, seeded_at = now(), seed_token = null,
     checkpoint_update_offset = $3, checkpoint_update_id = $4`,
    [epoch, offset, anchorMark?.offset ?? null, anchorMark?.updateId ?? null],
    'seeded_at is null',
  );
  await client.query(
    `insert into coverage (from_offset, origin, filter_hash, transaction_shape)
     select $1, $2, filter_hash, transaction_shape from stream`,
    [offset, origin],
  );
}

/** Time limit of the check of a complete seed, milliseconds. */
const checkTimeoutMs = 60 * 60 * 1000;

/**
 * Checks all rows of a list, because no index ensures that it names each contract once.
 * @throws IndexerError DUPLICATE_KEY
 */
async function assertNoDuplicates(client: ClientBase, offset: number): Promise<void> {
  await client.query(`set local statement_timeout = ${String(checkTimeoutMs)}; ${reportPlanning}`);
  const duplicatesQuery: QueryConfig & { query_timeout: number } = {
    text: `select id_text(l.contract_id) as contract, min(s.synchronizer_id) as synchronizer
             from live l join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
            group by l.contract_id, l.synchronizer_pk having count(*) > 1 limit 1`,
    query_timeout: checkTimeoutMs,
  };
  const { rows } = await client.query<{ contract: string; synchronizer: string }>(duplicatesQuery);
  const [duplicate] = rows;
  if (duplicate === undefined) return;
  const message = `found contract ${duplicate.contract} twice on ${duplicate.synchronizer}`;
  throw new IndexerError(`expected each contract once among the active ones at offset ${String(offset)}, ${message}`, {
    code: 'DUPLICATE_KEY',
    remedy: 'report it with the release of the participant; INDEXER_START=oldest follows the updates without this list',
    facts: { offset },
  });
}

const takenOverMessage = 'the seed was taken over';

async function changeSeed(client: ClientBase, set: string, values: unknown[], condition: string): Promise<void> {
  const { rowCount } = await client.query(`update stream set ${set} where epoch = $1 and ${condition}`, values);
  if (rowCount !== 1) throw fencedError(takenOverMessage);
}

export function fencedError(problem: string): IndexerError {
  return new IndexerError(`${problem}: another writer is at work`, {
    code: 'WRITER_FENCED',
    remedy: 'run one indexer per schema; this one discards its memory and reads the checkpoint again',
  });
}
