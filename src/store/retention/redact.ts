/**
 * Removes contents from rows and keeps the rows: payloads, keys, blobs, views, arguments and results become null. Table
 * `redactions` records who requested a redaction and why. `redacted_contracts` and `redacted_exercises` list contents
 * that the writer must also remove when the ledger sends them again.
 */
import { randomUUID } from 'node:crypto';
import { type ClientBase, escapeIdentifier } from 'pg';
import type { Database } from '../connection/database.ts';
import { shortTransaction } from '../connection/short-transaction.ts';
import { countRows, sql, tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import {
  findContracts,
  locateExercise,
  quarantinedOffsets,
  type ContractMatches,
  type ContractSubject,
  type ExerciseLocation,
  type ExerciseSubject,
} from './redaction-subjects.ts';
import { withReadTransaction } from './retention-session.ts';

export interface RedactionRequest {
  readonly subject: ContractSubject | ExerciseSubject;
  /** Stored permanently with the redaction, so it must not contain contents. */
  readonly reason: string;
  /** Whether contracts are included that are active or in flight between synchronizers. */
  readonly active: boolean;
  /** Whether arguments and results of exercises on the contracts are included. */
  readonly exercises: boolean;
  /** The same contracts in a Parquet export. Their history may have been pruned from this schema. */
  readonly inLake?: LakeContracts;
}

/** Contents found in exported files. They are recorded, so that the next export removes them from the files. */
export interface LakeContracts {
  readonly contracts: readonly string[];
  readonly exercise?: { readonly updateId: string | null };
}

/** Number of rows that would change, or that changed. */
interface RowCounts {
  readonly contracts: number;
  readonly interfaceViews: number;
  readonly exercises: number;
  readonly reassignments: number;
}

export interface RedactionPlan extends RowCounts {
  /** Number of contracts skipped because they are active. */
  readonly skippedActive: number;
  /** Number of contracts that exist only in the export. For an exercise, 1 if it exists only there. */
  readonly onlyInLake: number;
  /** Number of labels of the party; 0 if the subject is not a party. */
  readonly labels: number;
  /** Offsets of quarantined updates that name one of the contracts. Their contents are kept. */
  readonly quarantined: readonly number[];
}

export interface RedactionResult extends RedactionPlan {
  /** Undefined if there was nothing to remove; then no redaction is recorded. */
  readonly redactionId: string | undefined;
  /** False if the redaction was stopped before its end. */
  readonly finished: boolean;
}

const emptyCounts: RowCounts = { contracts: 0, interfaceViews: 0, exercises: 0, reassignments: 0 };
/** Counts for the redaction of one exercise. No contracts are searched in that case. */
const defaults = { skippedActive: 0, onlyInLake: 0, labels: 0, quarantined: [] } as const;
const batchContracts = 200;

interface ContractsWithIds extends ContractMatches {
  readonly ids: readonly string[];
  readonly labels: number;
  readonly quarantined: readonly number[];
}

async function findMatches(
  client: ClientBase,
  schema: string,
  request: RedactionRequest & { readonly subject: ContractSubject },
): Promise<ContractsWithIds> {
  const { subject } = request;
  const labels = subject.kind === 'party' ? await countLabels(client, subject.party) : 0;
  const matches = await findContracts(client, schema, { ...request, hasLabels: labels > 0 });
  const ids = [...matches.settled, ...matches.unsettled, ...matches.lakeOnly];
  return { ...matches, ids, labels, quarantined: await quarantinedOffsets(client, ids) };
}

async function countLabels(client: ClientBase, party: string): Promise<number> {
  const rows = tablesOf(client).selectFrom('party_labels').where('party', '=', party).select(countRows);
  return (await rows.executeTakeFirstOrThrow()).count;
}

/** Calculates what {@link redact} would remove; changes nothing. @throws IndexerError REDACTION_REFUSED */
export function planRedaction(database: Database, request: RedactionRequest): Promise<RedactionPlan> {
  return withReadTransaction(database, async (client) => {
    const { subject } = request;
    if (subject.kind === 'exercise') {
      const location = await locateExercise(client, subject, request.inLake);
      return {
        ...emptyCounts,
        ...defaults,
        exercises: location === 'here' ? 1 : 0,
        onlyInLake: location === 'lake' ? 1 : 0,
      };
    }
    const { ids, lakeOnly, skippedActive, labels, quarantined } = await findMatches(client, database.schema, {
      ...request,
      subject,
    });
    const counts = await countContents(client, ids, request.exercises);
    return { ...counts, skippedActive, onlyInLake: lakeOnly.length, labels, quarantined };
  });
}

/** Number of rows of these contracts that still have contents. */
async function countContents(client: ClientBase, ids: readonly string[], exercises: boolean): Promise<RowCounts> {
  const { rows } = await client.query<RowCounts>(
    `with meant as materialized (
       select s.activated_offset as "offset", s.node_id
         from unnest($1::text[]) i (contract_id) join contract_states s on s.contract_id = i.contract_id)
     select (select count(*) from contracts c join meant m using ("offset", node_id) where c.redaction_id is null)
              as contracts,
            (select count(*) from interface_views v join meant m using ("offset", node_id) where v.redaction_id is null)
              as "interfaceViews",
            (select count(*) from exercises e
              where $2 and id_text(e.contract_id) = any ($1) and e.redaction_id is null) as exercises,
            (select count(*) from reassignments r
              where id_text(r.contract_id) = any ($1) and r.created_event is not null) as reassignments`,
    [ids, exercises],
  );
  return rows[0] ?? emptyCounts;
}

/**
 * Removes the contents, in many short transactions for many contracts. If stopped, the next call removes the rest.
 * @throws IndexerError REDACTION_REFUSED for contents that are not stored, or active contracts that were not included;
 * STORE_NOT_PERMITTED
 */
export async function redact(
  database: Database,
  request: RedactionRequest,
  stop: AbortSignal,
): Promise<RedactionResult> {
  const { subject } = request;
  const redactionId = randomUUID();
  if (subject.kind === 'exercise') {
    const location = await redactExercise(database, subject, redactionId, request);
    const counts = {
      ...emptyCounts,
      ...defaults,
      exercises: location === 'here' ? 1 : 0,
      onlyInLake: location === 'lake' ? 1 : 0,
    };
    return { ...counts, redactionId: location === 'nowhere' ? undefined : redactionId, finished: true };
  }
  const matches = await withReadTransaction(database, (client) =>
    findMatches(client, database.schema, { ...request, subject }),
  );
  const { settled, unsettled, lakeOnly, skippedActive, quarantined } = matches;
  const contractBatches = [
    // A pruned contract may have been reassigned to another synchronizer and may return.
    ...chunks([...unsettled, ...lakeOnly]).map((ids) => ({ ids, restart: true })),
    ...chunks(settled).map((ids) => ({ ids, restart: false })),
  ];
  const batches = contractBatches.length === 0 && matches.labels > 0 ? [{ ids: [], restart: false }] : contractBatches;
  let counts = emptyCounts;
  let labels = 0;
  let doneCount = 0;
  for (const { ids, restart } of batches) {
    if (stop.aborted) break;
    const removed = await redactBatch(database, ids, restart, redactionId, request);
    counts = sum(counts, removed);
    labels += removed.labels;
    doneCount += 1;
  }
  return {
    ...counts,
    skippedActive,
    onlyInLake: lakeOnly.length,
    labels,
    quarantined,
    redactionId: doneCount === 0 ? undefined : redactionId,
    finished: doneCount === batches.length,
  };
}

/**
 * Also removes the labels of a party, in the transaction that records the redaction.
 * @param restart whether the ledger may send these contracts again, so that the running writer has to begin a new
 * session. The statement for this comes first, because the writer also locks the stream row first
 */
function redactBatch(
  database: Database,
  ids: readonly string[],
  restart: boolean,
  redactionId: string,
  request: RedactionRequest,
): Promise<RowCounts & { readonly labels: number }> {
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  return shortTransaction(database, async (client) => {
    await client.query(`select ${pqs}.__retention_lock()`);
    if (restart) await client.query(`select ${pqs}.__restart_writer()`);
    const { subject } = request;
    const labels = subject.kind === 'party' ? await removeLabels(client, subject.party) : 0;
    await recordRedaction(client, redactionId, request, labels);
    const { rows } = await client.query<RowCounts>(
      `select contracts, interface_views as "interfaceViews", exercises, reassignments
         from ${pqs}.__redact_contracts($1, $2, $3)`,
      [ids, redactionId, request.exercises],
    );
    return { ...(rows[0] ?? emptyCounts), labels };
  });
}

async function removeLabels(client: ClientBase, party: string): Promise<number> {
  const { numDeletedRows } = await tablesOf(client)
    .deleteFrom('party_labels')
    .where('party', '=', party)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function redactExercise(
  database: Database,
  subject: ExerciseSubject,
  redactionId: string,
  request: RedactionRequest,
): Promise<ExerciseLocation> {
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  return shortTransaction(database, async (client) => {
    await client.query(`select ${pqs}.__retention_lock()`);
    const location = await locateExercise(client, subject, request.inLake);
    if (location === 'nowhere') return location;
    await recordRedaction(client, redactionId, request);
    const { offset, nodeId } = subject;
    if (location === 'here')
      await client.query(`select ${pqs}.__redact_exercise($1, $2, $3)`, [offset, nodeId, redactionId]);
    else await recordPrunedRedaction(client, subject, redactionId, request.inLake?.exercise?.updateId ?? null);
    return location;
  });
}

/** Records the redaction as `__redact_exercise` does, with the id of an update that is no longer stored. */
async function recordPrunedRedaction(
  client: ClientBase,
  { offset, nodeId }: ExerciseSubject,
  redactionId: string,
  updateId: string | null,
): Promise<void> {
  await tablesOf(client)
    .insertInto('redacted_exercises')
    .values({ offset, node_id: nodeId, update_id: updateId, redaction_id: redactionId })
    .onConflict((c) => c.columns(['offset', 'node_id']).doUpdateSet({ update_id: updateId, redaction_id: redactionId }))
    .execute();
}

async function recordRedaction(
  client: ClientBase,
  redactionId: string,
  { subject, reason }: RedactionRequest,
  labels = 0,
): Promise<void> {
  const [offset, nodeId] = subject.kind === 'exercise' ? [subject.offset, subject.nodeId] : [null, null];
  await tablesOf(client)
    .insertInto('redactions')
    .values({
      redaction_id: redactionId,
      subject: subject.kind,
      contract_id: subject.kind === 'contract' ? subject.contractId : null,
      offset,
      node_id: nodeId,
      party: subject.kind === 'party' ? subject.party : null,
      reason,
      requested_by: sql`session_user`,
      labels,
    })
    .onConflict((c) => c.doNothing())
    .execute();
}

function chunks(ids: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(ids.length / batchContracts);
  return Array.from({ length: count }, (_, index) => ids.slice(index * batchContracts, (index + 1) * batchContracts));
}

function sum(a: RowCounts, b: RowCounts): RowCounts {
  return {
    contracts: a.contracts + b.contracts,
    interfaceViews: a.interfaceViews + b.interfaceViews,
    exercises: a.exercises + b.exercises,
    reassignments: a.reassignments + b.reassignments,
  };
}
