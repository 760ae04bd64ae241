/** What a redaction is about: found in the tables, with what may be changed and what must be left alone. */
import type { ClientBase } from 'pg';
import { sql } from 'kysely';
import { escapeIdentifier } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';

export interface ExerciseSubject {
  readonly kind: 'exercise';
  readonly offset: number;
  readonly nodeId: number;
}

export type ContractSubject =
  { readonly kind: 'contract'; readonly contractId: string } | { readonly kind: 'party'; readonly party: string };

export interface ContractRequest {
  readonly subject: ContractSubject;
  /** Contracts that are active, or on their way between synchronizers, as well. */
  readonly active: boolean;
  /** Arguments and results of the exercises on the contracts as well. */
  readonly exercises: boolean;
}

export interface FoundContracts {
  /** Contracts that still have contents: those of which the ledger will send no more. */
  readonly settled: readonly string[];
  /** Those of which more may come. */
  readonly unsettled: readonly string[];
  /** How many were left alone because they are active. */
  readonly leftActive: number;
}

interface ContractRow {
  readonly id: string;
  readonly state: 'active' | 'unknown' | 'unassigned' | 'witnessed' | 'archived';
  /** Something of it still has its contents. */
  readonly open: boolean;
}

/** Reads all contracts for a party. @throws IndexerError REDACTION_REFUSED for what is not here, or active and not asked for */
export async function findContracts(
  client: ClientBase,
  schema: string,
  { subject, active, exercises }: ContractRequest,
): Promise<FoundContracts> {
  const [stored, arriving, value] =
    subject.kind === 'contract'
      ? ['c.contract_id = $1', 'r.contract_id = $1', subject.contractId]
      : [
          '(c.signatories @> array[$1::text] or c.observers @> array[$1::text])',
          `(r.created_event -> 'signatories' ? $1 or r.created_event -> 'observers' ? $1)`,
          subject.party,
        ];
  // Contents of what a seed found arriving stand with the reassignment until it has arrived.
  const { rows } = await client.query<ContractRow>(
    `select m.contract_id as id, ${escapeIdentifier(readSchemas(schema).pqs)}.__contract_state(m.contract_id) as state,
            m.open or ($2 and exists (select from exercises e
                                       where e.contract_id = m.contract_id and e.redaction_id is null)) as open
       from (select known.contract_id, bool_or(known.open) as open
               from (select c.contract_id, c.redaction_id is null as open from contracts c where ${stored}
                     union all
                     select r.contract_id, r.created_event is not null from reassignments r
                      where r.kind = 'assign' and r.incomplete and ${arriving}) known
              group by 1) m`,
    [value, exercises],
  );
  const isActive = ({ state }: ContractRow): boolean => ['active', 'unknown', 'unassigned'].includes(state);
  const [first] = rows;
  if (first === undefined) {
    const what = subject.kind === 'contract' ? 'this contract is not here' : 'no contract of this party is here';
    throw refused(what, `look at the id of the ${subject.kind}`);
  }
  if (subject.kind === 'contract' && isActive(first) && !active) {
    throw refused(`the contract is ${first.state}`, 'archive it on the ledger first, or add --active');
  }
  const open = rows.filter((row) => row.open);
  const meant = open.filter((row) => active || !isActive(row));
  return {
    settled: meant.filter(({ state }) => state === 'archived').map(({ id }) => id),
    unsettled: meant.filter(({ state }) => state !== 'archived').map(({ id }) => id),
    leftActive: open.length - meant.length,
  };
}

/** Offsets of the updates in quarantine that name one of the contracts: they are kept whole, contents included. */
export async function setAsideWith(client: ClientBase, contractIds: readonly string[]): Promise<readonly number[]> {
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

/** Whether it still has its contents. @throws IndexerError REDACTION_REFUSED when it is not here */
export async function isExerciseOpen(client: ClientBase, { offset, nodeId }: ExerciseSubject): Promise<boolean> {
  const exercise = await tablesOf(client)
    .selectFrom('exercises')
    .select('redaction_id')
    .where('offset', '=', offset)
    .where('node_id', '=', nodeId)
    .executeTakeFirst();
  if (exercise !== undefined) return exercise.redaction_id === null;
  throw refused(`no exercise ${offset}:${nodeId} is here`, 'take offset and node_id from explore.exercises');
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(`${found}: nothing was changed`, {
    code: 'REDACTION_REFUSED',
    remedy,
  });
}
