/** Finds the contents that a redaction has to remove, and the contracts that it must skip. */
import { type ClientBase, escapeIdentifier } from 'pg';
import { sql, tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import type { LakeContracts, RedactionRequest } from './redact.ts';
import { similarParties } from './similar-parties.ts';
import { IndexerError } from '../../errors/indexer-error.ts';

export interface ExerciseSubject {
  readonly kind: 'exercise';
  readonly offset: number;
  readonly nodeId: number;
}

export type ContractSubject =
  { readonly kind: 'contract'; readonly contractId: string } | { readonly kind: 'party'; readonly party: string };

type ContractRequest = Pick<RedactionRequest, 'active' | 'exercises' | 'inLake'> & {
  readonly subject: ContractSubject;
  /** Whether labels of the party are stored, which can be removed without any contract. */
  readonly hasLabels: boolean;
};

export interface ContractMatches {
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
export async function findContracts(
  client: ClientBase,
  schema: string,
  { subject, active, exercises, inLake: lakeContracts, hasLabels }: ContractRequest,
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
  if (first === undefined && pruned.length === 0 && !hasLabels) {
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
export async function quarantinedOffsets(
  client: ClientBase,
  contractIds: readonly string[],
): Promise<readonly number[]> {
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
export type ExerciseLocation = 'here' | 'lake' | 'nowhere';

/** @throws IndexerError REDACTION_REFUSED if the exercise is neither stored here nor exported */
export async function locateExercise(
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
