/**
 * A database with the layout of a PQS, filled from the data of a ledger. It has the table names of a PQS, the functions
 * of its read API, and transaction ordinals instead of offsets. It is written for these tests and does not run code of
 * PQS. It has no reassignments, so a contract stays on its synchronizer.
 */
import { Client } from 'pg';
import { interfaces, interfacesV2 } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import type { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { JsonObject } from '../../packages/ledger-sandbox/src/wire/json.ts';
import type { CreatedEvent, ExercisedEvent, Transaction } from '../../packages/ledger-sandbox/src/wire/wire.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const layout = `
  create type event_id as ("offset" bigint, node_id integer);
  create table __transactions (ix bigint primary key, "offset" bigint not null, transaction_id text, effective_at timestamptz);
  create table __events (pk bigint primary key, tx_ix bigint not null, event_id event_id not null, type text not null);
  create table __contract_tpe (pk bigint primary key, template_fqn text not null, payload_type text not null);
  create table __contracts (
    tpe_pk bigint not null, create_event_pk bigint not null, created_at_ix bigint not null,
    archive_event_pk bigint, archived_at_ix bigint, contract_id text not null, payload jsonb);
  create table __exercise_tpe (pk bigint primary key, template_fqn text not null, choice_fqn text not null, choice text not null, consuming boolean not null);
  create table __exercises (
    tpe_pk bigint not null, exercise_event_pk bigint not null, exercised_at_ix bigint not null, contract_id text not null,
    argument jsonb, result jsonb);
  create table __watermark (ix bigint not null, "offset" bigint not null);

  create view transactions as select * from __transactions;
  create view contract as
    select p.template_fqn, p.payload_type, a."offset" as created_at_offset, z."offset" as archived_at_offset,
           c.created_at_ix, c.archived_at_ix, c.contract_id, c.payload
      from __contracts c
      join __contract_tpe p on p.pk = c.tpe_pk
      join __transactions a on a.ix = c.created_at_ix
      left join __transactions z on z.ix = c.archived_at_ix;
  create view exercise as
    select p.template_fqn, p.choice_fqn, p.choice, p.consuming, t."offset" as exercised_at_offset, e.contract_id, e.argument, e.result
      from __exercises e
      join __exercise_tpe p on p.pk = e.tpe_pk
      join __transactions t on t.ix = e.exercised_at_ix;

  create function oldest_offset() returns bigint language sql stable as 'select min("offset") - 1 from __transactions';
  create function latest_offset() returns bigint language sql stable as 'select "offset" from __watermark';
  create function active(qname text default null, "offset" bigint default latest_offset()) returns setof contract language sql stable as $$
    select * from contract c
     where (qname is null or c.template_fqn = qname) and c.created_at_offset <= active."offset"
       and (c.archived_at_offset is null or c.archived_at_offset > active."offset") $$;
  create function creates(qname text default null, from_offset bigint default oldest_offset(), to_offset bigint default latest_offset())
    returns setof contract language sql stable as $$
    select * from contract c
     where (qname is null or c.template_fqn = qname) and c.created_at_offset between from_offset and to_offset $$;
  create function archives(qname text default null, from_offset bigint default oldest_offset(), to_offset bigint default latest_offset())
    returns setof contract language sql stable as $$
    select * from contract c
     where (qname is null or c.template_fqn = qname) and c.archived_at_offset between from_offset and to_offset $$;
  create function exercises(qname text default null, from_offset bigint default oldest_offset(), to_offset bigint default latest_offset())
    returns setof exercise language sql stable as $$
    select * from exercise e
     where (qname is null or e.choice_fqn = qname) and e.exercised_at_offset between from_offset and to_offset $$;`;

const interfaceNames: readonly string[] = [...Object.values(interfaces), ...Object.values(interfacesV2)];

/** A table row by column name. */
type Row = Readonly<Record<string, unknown>>;

/** @param viewedInterfaces names of the interfaces whose views the database contains */
export async function createPqsDatabase(ledger: Ledger, viewedInterfaces: readonly string[]): Promise<PqsDatabase> {
  const database = await createTestDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(layout);
  const filling = new PqsFiller(ledger, viewedInterfaces);
  for (const [table, rows] of filling.tables()) {
    await client.query(`insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1)`, [
      JSON.stringify(rows),
    ]);
  }
  await client.query('insert into __watermark values ($1, $2)', [filling.last, ledger.ledgerEnd()]);
  return {
    url: database.url,
    database,
    query: async (sql, ...values) => (await client.query<Row>(sql, values)).rows,
    [Symbol.asyncDispose]: async () => {
      await client.end();
      await database.drop();
    },
  };
}

export interface PqsDatabase extends AsyncDisposable {
  readonly url: string;
  readonly database: TestDatabase;
  query(sql: string, ...values: unknown[]): Promise<readonly Row[]>;
}

/** The rows of all tables, from the transactions in order. */
class PqsFiller {
  readonly #ledger: Ledger;
  readonly #viewed: ReadonlySet<string>;
  readonly #transactions: Row[] = [];
  readonly #events: Row[] = [];
  readonly #contracts: (Row & { archive_event_pk: number | null; archived_at_ix: number | null })[] = [];
  readonly #exercises: Row[] = [];
  readonly #types = new Map<string, Row>();
  readonly #choices = new Map<string, Row>();

  constructor(ledger: Ledger, viewedInterfaces: readonly string[]) {
    this.#ledger = ledger;
    this.#viewed = new Set(viewedInterfaces);
    for (const { update } of ledger.range(0, ledger.ledgerEnd(), Infinity)) {
      if (update !== undefined && 'Transaction' in update) this.#add(update.Transaction.value);
    }
  }

  get last(): number {
    return this.#transactions.length;
  }

  tables(): readonly (readonly [table: string, rows: readonly Row[]])[] {
    return [
      ['__transactions', this.#transactions],
      ['__events', this.#events],
      ['__contract_tpe', [...this.#types.values()]],
      ['__contracts', this.#contracts],
      ['__exercise_tpe', [...this.#choices.values()]],
      ['__exercises', this.#exercises],
    ];
  }

  #add({ offset, updateId, effectiveAt, events }: Transaction): void {
    const ix = this.#transactions.length + 1;
    this.#transactions.push({ ix, offset, transaction_id: updateId, effective_at: effectiveAt });
    for (const event of events) {
      if ('CreatedEvent' in event) this.#create(ix, offset, event.CreatedEvent);
      else if ('ExercisedEvent' in event) this.#exercise(ix, offset, event.ExercisedEvent);
    }
  }

  #event(ix: number, offset: number, nodeId: number, type: string): number {
    const pk = this.#events.length + 1;
    this.#events.push({ pk, tx_ix: ix, event_id: { offset, node_id: nodeId }, type });
    return pk;
  }

  #create(ix: number, offset: number, createdEvent: CreatedEvent): void {
    const name = nameOf(createdEvent.packageName, createdEvent.templateId);
    const create_event_pk = this.#event(ix, offset, createdEvent.nodeId, 'create');
    const openContract = { create_event_pk, created_at_ix: ix, archive_event_pk: null, archived_at_ix: null };
    const row = { ...openContract, contract_id: createdEvent.contractId };
    const payload = withNulls(createdEvent.createArgument);
    this.#contracts.push({ ...row, tpe_pk: this.#type(name, 'template'), payload });
    for (const implementation of this.#ledger.model.interfacesOf(name)) {
      if (!this.#viewed.has(implementation.name)) continue;
      const view = implementation.view(createdEvent.createArgument);
      this.#contracts.push({ ...row, tpe_pk: this.#type(implementation.name, 'interface'), payload: withNulls(view) });
    }
  }

  #exercise(ix: number, offset: number, exercisedEvent: ExercisedEvent): void {
    const { contractId, interfaceId, packageName, templateId, choice, consuming } = exercisedEvent;
    const name = interfaceId === null ? nameOf(packageName, templateId) : interfaceOf(interfaceId);
    const exercise_event_pk = this.#event(ix, offset, exercisedEvent.nodeId, consuming ? 'archive' : 'exercise');
    const tpe_pk = this.#choice(name, choice, consuming);
    const { choiceArgument: argument, exerciseResult: result } = exercisedEvent;
    this.#exercises.push({ tpe_pk, exercise_event_pk, exercised_at_ix: ix, contract_id: contractId, argument, result });
    if (!consuming) return;
    for (const contract of this.#contracts.filter(
      (candidateContract) => candidateContract['contract_id'] === contractId,
    )) {
      contract.archive_event_pk = exercise_event_pk;
      contract.archived_at_ix = ix;
    }
  }

  #type(template_fqn: string, payload_type: string): unknown {
    return numbered(this.#types, `${payload_type} ${template_fqn}`, { template_fqn, payload_type });
  }

  #choice(template_fqn: string, choice: string, consuming: boolean): unknown {
    const choice_fqn = `${template_fqn}:${choice}`;
    return numbered(this.#choices, choice_fqn, { template_fqn, choice_fqn, choice, consuming });
  }
}

function numbered(rows: Map<string, Row>, key: string, row: Row): unknown {
  const dictionaryRow = rows.get(key) ?? { pk: rows.size + 1, ...row };
  rows.set(key, dictionaryRow);
  return dictionaryRow['pk'];
}

/** `package-name:Module:Entity` of a template or interface id. */
function nameOf(packageName: string, id: string): string {
  return `${packageName}:${id.slice(id.indexOf(':') + 1)}`;
}

function interfaceOf(id: string): string {
  const tail = id.slice(id.indexOf(':'));
  return interfaceNames.find((name) => name.endsWith(tail)) ?? id;
}

/** Adds a null field, because a PQS includes fields that are None, and the ledger omits them. */
function withNulls(payload: JsonObject): JsonObject {
  return { ...payload, aFieldThatIsNone: null };
}
