/**
 * The queries of `npm run bench:reads`: those that readers use most, through each available schema, with a time limit
 * for each. `storage` is hand-written SQL over the tables, to measure the cost of the functions and views.
 */
import { escapeIdentifier, type Client } from 'pg';
import { templateName } from '../replay/names.ts';

/** Kind of a query, with its name in the JSON. */
export type QueryName =
  | 'active_by_template'
  | 'active_by_id'
  | 'active_by_payload'
  | 'active_of_party'
  | 'count_by_template'
  | 'as_of'
  | 'hourly_chart';

/** Schema that a query uses. */
export type QuerySource = 'storage' | 'explore' | 'pqs' | 'typed';

/** Aim for 95 of 100 calls: milliseconds that the server takes for planning and execution. */
export const targetsMs: Readonly<Record<QueryName, number>> = {
  active_by_template: 20,
  active_by_id: 1,
  active_by_payload: 2,
  active_of_party: 5,
  count_by_template: 2,
  as_of: 60,
  hourly_chart: 20,
};

export interface ReadQuery {
  readonly question: QueryName;
  readonly way: QuerySource;
  readonly text: string;
  /** Parameters of one round. They differ, because readers do not query the same contract twice in a row. */
  values(round: number): readonly unknown[];
  /** Expected number of rows in round 0. */
  readonly rows: number;
}

/** Parameters of the queries, read from the filled database. */
interface QueryFacts {
  readonly template: string;
  readonly middle: string;
  readonly samples: readonly { readonly id: string; readonly account: string }[];
  readonly party: string;
  /**
   * Number of contracts that are active now. The next fields are the numbers active in the middle, active with the
   * first sample's account, and active with the party as signatory or observer.
   */
  readonly active: number;
  readonly activeInTheMiddle: number;
  readonly ofFirstAccount: number;
  readonly ofParty: number;
}

async function factsOf(client: Client): Promise<QueryFacts> {
  const { id, packageName } = templateName(0);
  const { rows: samples } = await client.query<{ id: string; account: string; party: string }>(
    `select ledger.id_text(l.contract_id) as id, c.payload ->> 'account' as account, c.payload ->> 'owner' as party
       from ledger.live l join ledger.contracts c using ("offset", node_id)
      order by md5(ledger.id_text(l.contract_id)) limit 1000`,
  );
  const { rows } = await client.query<Omit<QueryFacts, 'template' | 'samples' | 'party'>>(
    `with half as (select max(activated_offset) / 2 as middle from ledger.lifetimes),
     active as (select c.payload from ledger.live l join ledger.contracts c using ("offset", node_id))
     select (select middle from half)::text as middle, (select count(*) from active)::integer as active,
            (select count(*) from ledger.lifetimes, half
              where activated_offset <= middle and (deactivated_offset is null or deactivated_offset > middle))::integer
              as "activeInTheMiddle",
            (select count(*) from active where payload ->> 'account' = $1)::integer as "ofFirstAccount",
            (select count(*) from active where $2 in (payload ->> 'operator', payload ->> 'owner'))::integer as "ofParty"`,
    [samples[0]?.account, samples[0]?.party],
  );
  if (rows[0] === undefined || samples[0] === undefined) throw new Error('nothing is active in the filled database');
  const { party } = samples[0];
  return { template: `${packageName}:${id.slice(id.indexOf(':') + 1)}`, party, samples, ...rows[0] };
}

const emptySample = { id: '', account: '' };

/** Queries for lists of active contracts and for single ones, with the function of one schema. */
function activeQueries(querySource: QuerySource, activeParameter: string, facts: QueryFacts): ReadQuery[] {
  const { template, party, samples } = facts;
  const sample = (round: number): QueryFacts['samples'][number] => samples[round % samples.length] ?? emptySample;
  const select = `select contract_id, payload from ${activeParameter}`;
  return [
    { question: 'active_by_template', way: querySource, text: select, values: () => [template], rows: facts.active },
    {
      question: 'active_by_id',
      way: querySource,
      text: `${select} where contract_id = $2`,
      values: (round) => [template, sample(round).id],
      rows: 1,
    },
    {
      question: 'active_by_payload',
      way: querySource,
      text: `${select} where payload ->> 'account' = $2`,
      values: (round) => [template, sample(round).account],
      rows: facts.ofFirstAccount,
    },
    {
      question: 'active_of_party',
      way: querySource,
      text: `${select} where signatories @> array[$2] or observers @> array[$2]`,
      values: () => [template, party],
      rows: facts.ofParty,
    },
  ];
}

const templateSql = `(select template_pk from ledger.templates
  where package_name = split_part($1, ':', 1) and module_name = split_part($1, ':', 2) and entity_name = split_part($1, ':', 3))`;
const joinSql = `join ledger.contracts c on c.template_pk = l.template_pk and c."offset" = l."offset" and c.node_id = l.node_id`;

const storageActive = `(select ledger.id_text(l.contract_id) as contract_id, c.payload, p.signatories, p.observers
  from ledger.live l ${joinSql} join ledger.contract_parties p on p.parties_pk = l.parties_pk
  where l.unhosted_since is null and l.template_pk = ${templateSql}) as active`;

const storageAsOf = `
  select ledger.id_text(l.contract_id), c.payload
    from (select l.template_pk, l.contract_id, l."offset", l.node_id from ledger.live l
           where l.unhosted_since is null and l.template_pk = ${templateSql} and l."offset" <= $2::bigint
          union all
          select l.template_pk, l.contract_id, l."offset", l.node_id
            from generate_series(0, 40) as k
            cross join lateral (
              select * from ledger.ended l
               where l.template_pk = ${templateSql} and l.class = k
                 and l."offset" <= $2::bigint and l."offset" > $2::bigint - 1 - (2 ^ (k + 1) * 1.001)::bigint
                 and l.ended_offset > $2::bigint
               offset 0) as l) as l
    ${joinSql}`;

const yearSql = `hour >= timestamptz '2025-01-01' and hour < timestamptz '2026-01-01'`;

function asOfQueries(querySource: QuerySource, text: string, facts: QueryFacts): ReadQuery {
  const values = (): readonly unknown[] => [facts.template, facts.middle];
  return { question: 'as_of', way: querySource, text, values, rows: facts.activeInTheMiddle };
}

function storageQueries(facts: QueryFacts): readonly ReadQuery[] {
  const count = `select activated - deactivated from ledger.active_counts where template_pk = ${templateSql}`;
  const chart = `select hour, sum(total_creates), sum(total_archives), sum(total_exercises) from ledger.activity_hourly where template_pk = 0 and ${yearSql} group by hour order by hour`;
  return [
    ...activeQueries('storage', storageActive, facts),
    { question: 'count_by_template', way: 'storage', text: count, values: () => [facts.template], rows: 1 },
    asOfQueries('storage', storageAsOf, facts),
    { question: 'hourly_chart', way: 'storage', text: chart, values: () => [], rows: 365 * 24 },
  ];
}

function exploreQueries(facts: QueryFacts): readonly ReadQuery[] {
  const count = `select active from explore.templates where package_name = $1 and entity_name = $2`;
  const chart = `select hour, sum(creates), sum(archives), sum(exercises) from explore.activity_updates where ${yearSql} group by hour order by hour`;
  const [packageName, , entityName] = facts.template.split(':');
  return [
    ...activeQueries('explore', 'explore.active($1)', facts),
    { question: 'count_by_template', way: 'explore', text: count, values: () => [packageName, entityName], rows: 1 },
    asOfQueries('explore', 'select contract_id, payload from explore.active_at($2::bigint, $1)', facts),
    { question: 'hourly_chart', way: 'explore', text: chart, values: () => [], rows: 365 * 24 },
  ];
}

function pqsQueries(facts: QueryFacts): readonly ReadQuery[] {
  return [
    ...activeQueries('pqs', 'pqs.active($1)', facts),
    asOfQueries('pqs', 'select contract_id, payload from pqs.active($1, $2::bigint)', facts),
  ];
}

function typedViewQueries(facts: QueryFacts, view: string): readonly ReadQuery[] {
  const select = `select contract_id, owner, amount, account from typed.${escapeIdentifier(view)}`;
  const sample = (round: number): QueryFacts['samples'][number] =>
    facts.samples[round % facts.samples.length] ?? emptySample;
  return [
    { question: 'active_by_template', way: 'typed', text: select, values: () => [], rows: facts.active },
    {
      question: 'active_by_id',
      way: 'typed',
      text: `${select} where contract_id = $1`,
      values: (round) => [sample(round).id],
      rows: 1,
    },
    {
      question: 'active_by_payload',
      way: 'typed',
      text: `${select} where account = $1`,
      values: (round) => [sample(round).account],
      rows: facts.ofFirstAccount,
    },
    {
      question: 'active_of_party',
      way: 'typed',
      text: `${select} where signatories @> array[$1] or observers @> array[$1]`,
      values: () => [facts.party],
      rows: facts.ofParty,
    },
  ];
}

/** All queries in the order of the table. @param typedView the view of the filled template, if there is one */
export async function readQueries(client: Client, typedView: string | undefined): Promise<readonly ReadQuery[]> {
  const facts = await factsOf(client);
  const typedQueries = typedView === undefined ? [] : typedViewQueries(facts, typedView);
  const queries = [...storageQueries(facts), ...exploreQueries(facts), ...pqsQueries(facts), ...typedQueries];
  const order = Object.keys(targetsMs);
  return queries.toSorted((a, b) => order.indexOf(a.question) - order.indexOf(b.question));
}
