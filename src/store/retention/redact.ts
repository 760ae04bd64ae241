/**
 * Removes contents from rows and keeps the rows: payloads, keys, blobs, views, arguments and results become null. Table
 * `redactions` records who requested a redaction and why. `redacted_contracts` and `redacted_exercises` list contents
 * that the writer must also remove when the ledger sends them again.
 */
import { randomUUID } from 'node:crypto';
import { type ClientBase, escapeIdentifier } from 'pg';
import type { Database } from '../connection/database.ts';
import { shortTransaction } from '../connection/short-transaction.ts';
import { sql, tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { withReadTransaction } from './retention-session.ts';
import { similarParties } from './similar-parties.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

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
const exerciseDefaults = { skippedActive: 0, onlyInLake: 0, quarantined: [] } as const;
const batchContracts = 200;

interface ContractsWithIds extends ContractMatches {
  readonly ids: readonly string[];
  readonly quarantined: readonly number[];
}

async function findRedactable(
  client: ClientBase,
  schema: string,
  request: RedactionRequest & { readonly subject: ContractSubject },
): Promise<ContractsWithIds> {
  const matches = await findContracts(client, schema, request);
  const ids = [...matches.settled, ...matches.unsettled, ...matches.lakeOnly];
  return { ...matches, ids, quarantined: await quarantinedOffsetsOf(client, ids) };
}

/** Calculates what {@link redact} would remove; changes nothing. @throws IndexerError REDACTION_REFUSED */
export function planRedaction(database: Database, request: RedactionRequest): Promise<RedactionPlan> {
  return withReadTransaction(database, async (client) => {
    const { subject } = request;
    if (subject.kind === 'exercise') {
      const exerciseLocation = await locateExercise(client, subject, request.inLake);
      return {
        ...emptyCounts,
        ...exerciseDefaults,
        exercises: exerciseLocation === 'here' ? 1 : 0,
        onlyInLake: exerciseLocation === 'lake' ? 1 : 0,
      };
    }
    const { ids, lakeOnly, skippedActive, quarantined } = await findRedactable(client, database.schema, {
      ...request,
      subject,
    });
    const counts = await countContents(client, ids, request.exercises);
    return { ...counts, skippedActive, onlyInLake: lakeOnly.length, quarantined };
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
    const exerciseLocation = await redactExercise(database, subject, redactionId, request);
    const counts = {
      ...emptyCounts,
      ...exerciseDefaults,
      exercises: exerciseLocation === 'here' ? 1 : 0,
      onlyInLake: exerciseLocation === 'lake' ? 1 : 0,
    };
    return { ...counts, redactionId: exerciseLocation === 'nowhere' ? undefined : redactionId, finished: true };
  }
  const matches = await withReadTransaction(database, (client) =>
    findRedactable(client, database.schema, { ...request, subject }),
  );
  const { settled: settledIds, unsettled: unsettledIds, lakeOnly, skippedActive, quarantined } = matches;
  const batches = [
    // A pruned contract may have been reassigned to another synchronizer and may return.
    ...chunks([...unsettledIds, ...lakeOnly]).map((ids) => ({ ids, restart: true })),
    ...chunks(settledIds).map((ids) => ({ ids, restart: false })),
  ];
  let counts = emptyCounts;
  let doneCount = 0;
  for (const { ids, restart } of batches) {
    if (stop.aborted) break;
    counts = sum(counts, await redactBatch(database, ids, restart, redactionId, request));
    doneCount += 1;
  }
  return {
    ...counts,
    skippedActive,
    onlyInLake: lakeOnly.length,
    quarantined,
    redactionId: doneCount === 0 ? undefined : redactionId,
    finished: doneCount === batches.length,
  };
}

/**
 * @param restart whether the ledger may send these contracts again, so that the running writer has to begin a new
 * session. The statement for this comes first, because the writer also locks the stream row first
 */
function redactBatch(
  database: Database,
  ids: readonly string[],
  restart: boolean,
  redactionId: string,
  request: RedactionRequest,
): Promise<RowCounts> {
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  return shortTransaction(database, async (client) => {
    await client.query(`select ${pqs}.__retention_lock()`);
    if (restart) await client.query(`select ${pqs}.__restart_writer()`);
    await recordRedaction(client, redactionId, request);
    const { rows } = await client.query<RowCounts>(
      `select contracts, interface_views as "interfaceViews", exercises, reassignments
         from ${pqs}.__redact_contracts($1, $2, $3)`,
      [ids, redactionId, request.exercises],
    );
    return rows[0] ?? emptyCounts;
  });
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
    const exerciseLocation = await locateExercise(client, subject, request.inLake);
    if (exerciseLocation === 'nowhere') return exerciseLocation;
    await recordRedaction(client, redactionId, request);
    const { offset, nodeId } = subject;
    if (exerciseLocation === 'here')
      await client.query(`select ${pqs}.__redact_exercise($1, $2, $3)`, [offset, nodeId, redactionId]);
    else await recordPrunedRedaction(client, subject, redactionId, request.inLake?.exercise?.updateId ?? null);
    return exerciseLocation;
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

// Finds the contents that a redaction has to remove, and the contracts that it must skip.

export interface ExerciseSubject {
  readonly kind: 'exercise';
  readonly offset: number;
  readonly nodeId: number;
}

export type ContractSubject =
  { readonly kind: 'contract'; readonly contractId: string } | { readonly kind: 'party'; readonly party: string };

type ContractRequest = Pick<RedactionRequest, 'active' | 'exercises' | 'inLake'> & {
  readonly subject: ContractSubject;
};

interface ContractMatches {
  /** Contracts that still have contents, and that the ledger will not send again. */
  readonly settled: readonly string[];
  /** Contracts that the ledger may send again. */
  readonly unsettled: readonly string[];
  /** Contracts that were pruned here and are not recorded as redacted yet. */
  readonly lakeOnly: readonly string[];
  /** Number of contracts skipped because they are active. */
  readonly skippedActive: number;
}

interface ContractRow {
  readonly id: string;
  readonly state: 'active' | 'unhosted' | 'unassigned' | 'witnessed' | 'archived';
  /** Whether any of its rows still has contents. */
  readonly open: boolean;
}

const activeStates: readonly string[] = ['active', 'unhosted', 'unassigned'];

/**
 * Reads all contracts of a party if the subject is a party.
 * @throws IndexerError REDACTION_REFUSED for contracts that are not stored, or active contracts that were not included
 */
async function findContracts(
  client: ClientBase,
  schema: string,
  { subject, active, exercises, inLake: lakeContracts }: ContractRequest,
): Promise<ContractMatches> {
  const [storedCondition, arrivingCondition, value] =
    subject.kind === 'contract'
      ? [
          `join contract_states s on s.activated_offset = c."offset" and s.node_id = c.node_id where s.contract_id = $1`,
          'id_text(r.contract_id) = $1',
          subject.contractId,
        ]
      : [
          `where c.parties_pk in (select p.parties_pk from contract_parties p
                                  where p.signatories @> array[$1::text] or p.observers @> array[$1::text])`,
          `(r.created_event -> 'signatories' ? $1 or r.created_event -> 'observers' ? $1)`,
          subject.party,
        ];
  // If a seed found a contract in flight, its contents are stored with the reassignment until it is assigned.
  const { rows } = await client.query<ContractRow>(
    `select m.id, ${escapeIdentifier(readSchemas(schema).pqs)}.__contract_state(m.id) as state,
            m.open or ($2 and exists (select from exercises e
                                       where id_text(e.contract_id) = m.id and e.redaction_id is null)) as open
       from (select id_text(known.contract_id) as id, bool_or(known.open) as open
               from (select c.contract_id, c.redaction_id is null as open from contracts c ${storedCondition}
                     union all
                     select r.contract_id, r.created_event is not null from reassignments r
                      where r.kind = 'a' and r.incomplete and ${arrivingCondition}) known
              group by known.contract_id) m`,
    [value, exercises],
  );
  const [first] = rows;
  const pruned = lakeContracts?.contracts ?? [];
  if (first === undefined && pruned.length === 0) {
    const message =
      subject.kind === 'contract' ? 'this contract is not stored here' : 'no contract of this party is stored here';
    const suggestions = subject.kind === 'party' ? await similarParties(client, schema, subject.party) : '';
    throw refusalError(`${message}${suggestions}`, `check the id of the ${subject.kind}${exportHint(lakeContracts)}`);
  }
  if (first !== undefined && subject.kind === 'contract' && activeStates.includes(first.state) && !active) {
    throw refusalError(`the contract is ${first.state}`, 'archive it on the ledger first, or add --include-active');
  }
  const openRows = rows.filter((row) => row.open);
  const selectedRows = openRows.filter((row) => active || !activeStates.includes(row.state));
  return {
    settled: selectedRows.filter(({ state }) => state === 'archived').map(({ id }) => id),
    unsettled: selectedRows.filter(({ state }) => state !== 'archived').map(({ id }) => id),
    lakeOnly: await findMissingContracts(client, pruned, exercises),
    skippedActive: openRows.length - selectedRows.length,
  };
}

/** Exported contracts that are not stored here, except those for which the requested redaction is already recorded. */
async function findMissingContracts(
  client: ClientBase,
  ids: readonly string[],
  exercises: boolean,
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const { rows } = await client.query<{ id: string }>(
    `select i.id from unnest($1::text[]) i (id)
      where not exists (select from contract_states s where s.contract_id = i.id)
        and not exists (select from redacted_contracts r where r.contract_id = i.id and (r.exercises or not $2))
      order by 1`,
    [ids, exercises],
  );
  return rows.map(({ id }) => id);
}

/** Offsets of quarantined updates that name one of the contracts. These updates and their contents are not changed. */
async function quarantinedOffsetsOf(client: ClientBase, contractIds: readonly string[]): Promise<readonly number[]> {
  const rows = await tablesOf(client)
    .selectFrom('quarantine as q')
    .select('q.offset')
    .where((e) => {
      const name = sql`position(convert_to(id, 'UTF8') in ${e.ref('q.frame')})`;
      return sql<boolean>`exists (select from unnest(${contractIds}::text[]) id where ${name} > 0)`;
    })
    .orderBy('q.offset')
    .execute();
  return rows.map(({ offset }) => offset);
}

/** The location of the contents that a redaction would remove. */
type ExerciseLocation = 'here' | 'lake' | 'nowhere';

/** @throws IndexerError REDACTION_REFUSED if the exercise is neither stored here nor exported */
async function locateExercise(
  client: ClientBase,
  { offset, nodeId }: ExerciseSubject,
  lakeContracts: LakeContracts | undefined,
): Promise<ExerciseLocation> {
  const exercise = await tablesOf(client)
    .selectFrom('exercises')
    .select('redaction_id')
    .where('offset', '=', offset)
    .where('node_id', '=', nodeId)
    .executeTakeFirst();
  if (exercise !== undefined) return exercise.redaction_id === null ? 'here' : 'nowhere';
  if (lakeContracts?.exercise === undefined) {
    const remedy = `use offset and node_id of explore.exercises${exportHint(lakeContracts)}`;
    throw refusalError(`no exercise ${offset}:${nodeId} is stored here`, remedy);
  }
  const redactionRow = await tablesOf(client)
    .selectFrom('redacted_exercises')
    .select('update_id')
    .where('offset', '=', offset)
    .where('node_id', '=', nodeId)
    .executeTakeFirst();
  return redactionRow !== undefined && redactionRow.update_id === lakeContracts.exercise.updateId ? 'nowhere' : 'lake';
}

/** The part of a remedy that suggests searching an export. Empty if an export was searched. */
function exportHint(lakeContracts: LakeContracts | undefined): string {
  return lakeContracts === undefined ? '; if it was pruned, name the Parquet export that has it with --exported' : '';
}

function refusalError(problem: string, remedy: string): IndexerError {
  return new IndexerError(`${problem}: nothing was changed`, {
    code: 'REDACTION_REFUSED',
    remedy,
  });
}
