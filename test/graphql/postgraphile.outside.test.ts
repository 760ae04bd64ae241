/**
 * Serves the month of the demo as a GraphQL API with PostGraphile. The documented queries return rows, and readers that
 * are limited to parties get exactly the rows of their parties.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { blocksOf, pages } from '../docs/pages.ts';
import type { DemoDatabase } from '../read/demo/demo-history.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { startGraphqlWorld, type GraphqlWorld } from './graphql-world.ts';
import { bearer, postgraphileSkipReason, startPostgraphile, type Postgraphile } from './postgraphile.ts';

const suffix = randomBytes(4).toString('hex');
let world: GraphqlWorld;
let demo: DemoDatabase;
let folder: string;
let tags: string;
let number: GraphqlWorld['number'];

const documentedPages = ['docs/how-to/integrate/graphql.md', 'docs/reference/graphql-names.md'];
const queries = pages()
  .filter(({ path }) => documentedPages.includes(path))
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'graphql')
  .map(({ text }) => ({ text, name: /^(?:query|mutation) (\w+)/.exec(text)?.[1] ?? '' }));
const dashboardQueryNames = [
  'HoldingLog',
  'UnlockedHoldings',
  'TrafficOfValidator',
  'Heartbeats',
  'AmuletTransfers',
].concat('TrafficPurchases', 'Validators');

const roles = {
  login: `graphql_${suffix}`,
  desk: `desk_${suffix}`,
  one: `one_${suffix}`,
  two: `two_${suffix}`,
};
const secret = randomBytes(32).toString('hex');
let api: Postgraphile;
let parties: { readonly one: string; readonly two: string };

type Json = Readonly<Record<string, unknown>>;
interface Fields {
  readonly fields: readonly { readonly name: string }[];
}
interface Page {
  readonly totalCount: number;
  readonly nodes: readonly { readonly contractId: string }[];
  readonly pageInfo: { readonly endCursor: string; readonly hasNextPage: boolean };
}

/**
 * Creates a role for each of two parties, a role that reads everything, and a login that may use these roles, as the
 * page describes.
 */
async function grantRoles(): Promise<void> {
  const owners = await demo.query(`select owner from token_balances where owner !~ '^(dso|bank|issuer)' group by owner
    order by sum(holdings) desc, owner limit 2`);
  parties = { one: String(owners[0]?.['owner']), two: String(owners[1]?.['owner']) };
  const env = { DATABASE_URL: demo.url };
  await runCommand(grantReaderCommand, [roles.desk], env);
  for (const readerName of ['one', 'two'] as const) {
    await runCommand(grantReaderCommand, [roles[readerName], '--party', parties[readerName]], env);
  }
  const block = pages()
    .filter(({ path }) => path === 'docs/how-to/integrate/graphql.md')
    .flatMap(blocksOf)
    .find(({ text }) => text.includes('create role'));
  const roleList = `${roles.one}, ${roles.two}, ${roles.desk}`;
  await demo.query((block?.text ?? '').replaceAll(/\bgraphql\b/g, roles.login).replace('wallet_alice, desk', roleList));
}

async function start(): Promise<Postgraphile> {
  writeFileSync(join(folder, 'secret'), `${secret}\n`);
  const url = new URL(demo.url);
  [url.username, url.password] = [roles.login, '…'];
  return startPostgraphile(tags, {
    DATABASE_URL: url.href,
    GRAPHQL_JWT_SECRET_FILE: join(folder, 'secret'),
    GRAPHQL_JWT_AUDIENCE: 'graphql',
    GRAPHQL_ROLES: JSON.stringify({ ann: roles.one, ben: roles.two, desk: roles.desk, eve: 'pg_read_all_data' }),
  });
}

/** Views with the rights of the reader need Postgres 15. */
const missingReason = postgraphileSkipReason ?? limitsSkipReason;

describe('GraphQL API', needs(missingReason), () => {
  beforeAll(async () => {
    world = await startGraphqlWorld();
    ({ demo, folder, tags, number } = world);
    await grantRoles();
    api = await start();
  });
  afterAll(async () => {
    await api[Symbol.asyncDispose]();
    await demo.query(`drop owned by ${Object.values(roles).join(', ')}`);
    await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role ${Object.values(roles).join(', ')}`);
    await world[Symbol.asyncDispose]();
  });

  describe('PostGraphile', () => {
    let variables: Readonly<Record<string, unknown>>;
    let deskHeaders: Record<string, string>;
    const runGraphql = (text: string, args: Json = {}) => api.ask(text, args, deskHeaders);
    beforeAll(async () => {
      deskHeaders = await bearer(secret, 'desk', { expires: '1h' });
      const [party] = await demo.query('select owner from token_balances order by holdings desc, owner limit 1');
      const [validator] = await demo.query('select provider from traffic_purchases order by provider limit 1');
      const [middle] = await demo.query(`select "offset" from updates order by "offset" offset 700 limit 1`);
      variables = { party: party?.['owner'], validator: validator?.['provider'], offset: middle?.['offset'] };
    });

    it.each(queries)('returns rows for the documented query $name', async ({ text }) => {
      const usedVariables = Object.entries(variables).filter(([name]) => text.includes(`$${name}`));
      const { data, errors } = await runGraphql(text, Object.fromEntries(usedVariables));
      expect(errors).toEqual([]);
      for (const [field, rows] of Object.entries(data ?? {})) {
        if (Array.isArray(rows)) expect(rows.length, field).toBeGreaterThan(0);
        else expect(rows, field).toBeTruthy();
      }
    });

    it('builds its schema without warnings', () => {
      expect(
        api.log
          .join('')
          .replace(/^.*Server listening.*$/gm, '')
          .trim(),
      ).toBe('');
    });

    it('returns the same related rows as SQL in both directions', async () => {
      const [busiestRow] = await demo.query(`select "offset" from exercises where contract_created_at_offset < "offset"
      group by 1 order by count(*) desc, 1 desc limit 1`);
      const { data } = await runGraphql(
        `query ($o: BigInt!) { updateByOffset(offset: $o) {
         exercises(orderBy: NODE_ID_ASC) { nodeId choice contract { contractId exercises(first: 1000) { offset } } } } }`,
        { o: busiestRow?.['offset'] },
      );
      const { exercises } = (data as { updateByOffset: { exercises: readonly Json[] } }).updateByOffset;
      const expected = await demo.query(
        `select e.node_id, e.choice, e.contract_id,
              (select least(count(*), 1000)::int from exercises o where o.contract_id = e.contract_id
                  and o.contract_created_at_offset = e.contract_created_at_offset) as times
         from exercises e where e."offset" = $1 order by e.node_id`,
        busiestRow?.['offset'],
      );
      expect(
        exercises.map(({ nodeId, choice, contract }) => {
          const { contractId, exercises: allExercises } = contract as {
            contractId: string;
            exercises: readonly Json[];
          };
          return { node_id: nodeId, choice, contract_id: contractId, times: allExercises.length };
        }),
      ).toEqual(expected);
    });

    it('returns past contracts by offset and by time, and rejects unknown offsets', async () => {
      const { offset } = variables;
      const callFields = (call: string) => runGraphql(`{ ${call} { contractId } }`);
      const activeContractRows = await demo.query(
        'select contract_id from active_at($1::bigint, $2) order by 1',
        offset,
        'Amulet',
      );
      const { data } = await callFields(`activeAtList(atOffset: "${String(offset)}", template: "Amulet", first: 1000)`);
      const ids = (data as { activeAtList: readonly { contractId: string }[] }).activeAtList.map(
        (row) => row.contractId,
      );
      expect(ids.toSorted()).toEqual(activeContractRows.map((row) => row['contract_id']));
      expect(activeContractRows.length).toBeGreaterThan(3);
      const laterContracts = await callFields(
        `activeAtTimeList(time: "2099-01-01T00:00:00Z", template: "Amulet", first: 1000)`,
      );
      expect((laterContracts.data as { activeAtTimeList: readonly Json[] }).activeAtTimeList).toHaveLength(
        await number(`select count(*) from active('Amulet')`),
      );
      const refusedOffset = await callFields('activeAtList(atOffset: "99999999")');
      expect(refusedOffset.errors[0]?.message).toContain('are not known yet');
    });

    it('filters and pages rows, and rejects a page size above 1000', async () => {
      const contractCount = await number(`select count(*) from contracts where status = 'archived'`);
      const { data } = await runGraphql(`query { allContracts(filter: { status: { equalTo: "archived" } }, first: 2,
      orderBy: [CREATED_AT_OFFSET_ASC, NODE_ID_ASC]) { totalCount nodes { contractId } pageInfo { endCursor hasNextPage } } }`);
      const page = (data as { allContracts: Page }).allContracts;
      expect([page.totalCount, page.nodes.length, page.pageInfo.hasNextPage]).toEqual([contractCount, 2, true]);
      const next = await runGraphql(
        `query ($c: Cursor) { allContracts(filter: { status: { equalTo: "archived" } }, first: 2, after: $c,
        orderBy: [CREATED_AT_OFFSET_ASC, NODE_ID_ASC]) { nodes { contractId } } }`,
        { c: page.pageInfo.endCursor },
      );
      const expected = await demo.query(
        `select contract_id from contracts where status = 'archived' order by created_at_offset, node_id limit 4`,
      );
      const nodes = [...page.nodes, ...(next.data as { allContracts: Page }).allContracts.nodes];
      expect(nodes.map(({ contractId }) => contractId)).toEqual(expected.map((row) => row['contract_id']));
      const unlimitedResponse = await runGraphql('{ allEventsList { offset } }');
      expect((unlimitedResponse.data as { allEventsList: readonly Json[] }).allEventsList).toHaveLength(100);
      const oversizedResponse = await runGraphql('{ allEventsList(first: 1001) { offset } }');
      expect(oversizedResponse.errors[0]?.message).toBe('first: 1001 is not between 0 and 1000');
    });

    it('rejects queries that expand to too many fields, and still serves other clients', async () => {
      const fragmentText = (index: number): string =>
        `fragment f${index} on Query { ...f${index + 1} ...f${index + 1} }`;
      const fragmentTexts = Array.from({ length: 28 }, (_, index) => fragmentText(index)).join('\n');
      const bomb = `{ ...f0 } ${fragmentTexts} fragment f28 on Query { allEventsList(first: 1) { offset } }`;
      const names = Array.from({ length: 1_000 }, (_, index) => `a${index}: allEventsList(first: 1) { offset }`);
      const nestedQuery = `{ ${'a { '.repeat(9_000)} a ${'} '.repeat(9_000)} }`;
      const [spreadResponse, namingResponse, nesting, otherResponse] = await Promise.all([
        runGraphql(bomb),
        runGraphql(`{ ${names.join(' ')} }`),
        runGraphql(nestedQuery),
        runGraphql('{ allEventsList(first: 1) { offset } }'),
      ]);
      for (const { status, text } of [spreadResponse, namingResponse]) {
        expect(text).toContain('The request selects more than 1000 fields');
        expect(status).toBe(400);
      }
      expect(nesting.status).toBe(400);
      expect(nesting.text).toContain('tokens');
      expect(otherResponse.status).toBe(200);
      const fewFragments = names.slice(0, 100).join(' ');
      expect(Object.keys((await runGraphql(`{ ${fewFragments} }`)).data ?? {})).toHaveLength(100);
    });

    it('reports syntax errors and recursive fragments', async () => {
      const recursiveFragment = await runGraphql('{ ...f } fragment f on Query { ...f }');
      expect(recursiveFragment.errors[0]?.message).toContain('Cannot spread fragment "f" within itself');
      expect((await runGraphql('{ a ')).errors[0]?.message).toContain('Syntax Error');
    });

    it('exposes no helper functions and only the mutation waitForOffset', async () => {
      const { data } = await runGraphql(
        '{ __schema { queryType { fields { name } } mutationType { fields { name } } } }',
      );
      const { queryType, mutationType } = (data as { __schema: Record<'queryType' | 'mutationType', Fields> }).__schema;
      const names = queryType.fields.map(({ name }) => name);
      expect(
        names.filter((name) => /^(fqn|tokenPks|templatePks|networkContracts|texts|ledgerProduct)/.test(name)),
      ).toEqual([]);
      expect(names).toContain('tokenBalancesAtTimeList');
      expect(mutationType.fields.map(({ name }) => name)).toEqual(['waitForOffset']);
    });

    it('executes the seven public queries and prints their p95', async () => {
      const lines: string[] = [];
      for (const { name, text } of queries.filter((sendQuery) => dashboardQueryNames.includes(sendQuery.name))) {
        const usedVariables = Object.fromEntries(Object.entries(variables).filter(([key]) => text.includes(`$${key}`)));
        const times: number[] = [];
        for (let round = 0; round < 20; round += 1) {
          const startMs = performance.now();
          await runGraphql(text, usedVariables);
          if (round >= 5) times.push(performance.now() - startMs);
        }
        times.sort((a, b) => a - b);
        lines.push(
          `${name} ${[0.5, 0.95].map((share) => (times[Math.ceil(times.length * share) - 1] ?? 0).toFixed(1)).join(' / ')}`,
        );
      }
      expect(lines).toHaveLength(7);
      process.stdout.write(`GraphQL on the demo, p50 / p95 in ms: ${lines.join(', ')}\n`);
    });
  });

  describe('party-limited readers', () => {
    const queryText = `{
    allContractsList(first: 200) { contractId signatories observers exercises(first: 10) { contractId actingParties witnesses } }
    allExercisesList(first: 100) { offset contractId actingParties witnesses contract { signatories observers } update { updateId } }
    allTokenHoldingsList(first: 100) { owner contractId contract { signatories observers } }
    allInterfaceViewsList(first: 100) { contractId contract { signatories observers } }
    allContracts { totalCount } allExercises { totalCount } allUpdates { totalCount } allTokenTransfers { totalCount }
    allTypedSpliceAmuletAmulets { totalCount } allTypedTokenHoldingV1Holdings { totalCount }
  }`;

    it('receive exactly the rows of their parties, also in concurrent requests', async () => {
      const headersByReader = { one: await bearer(secret, 'ann'), two: await bearer(secret, 'ben') };
      const readerTurns = ['one', 'two', 'two', 'one'] as const;
      const responses = await Promise.all(
        readerTurns.map(async (readerName) => ({
          who: readerName,
          ...(await api.ask(queryText, {}, headersByReader[readerName])),
        })),
      );
      let rowCount = 0;
      for (const { who: readerName, data, errors } of responses) {
        // As text, so that the failure message contains the cause.
        expect(errors.map((graphError) => JSON.stringify(graphError)).join('\n')).toBe('');
        const lists = Object.entries(data ?? {}).flatMap(([field, rows]) =>
          Array.isArray(rows) ? (rows as Json[]).map((row) => ({ field, row })) : [],
        );
        const leakedRows = lists.filter(({ row }) => !mentionsParty(row, parties[readerName]));
        expect(leakedRows.map((leakedRow) => JSON.stringify(leakedRow)).join('\n'), `for ${parties[readerName]}`).toBe(
          '',
        );
        rowCount += lists.length;
        for (const [field, view] of countedViews) {
          const { totalCount } = (data as Record<string, { totalCount: number }>)[field] ?? {};
          expect(totalCount, `${field} of ${readerName}`).toBe(await countAs(roles[readerName], view));
        }
      }
      expect(rowCount).toBeGreaterThan(60);
      expect(parties.one).not.toBe(parties.two);
    });

    const countedViews = [
      ['allContracts', 'explore.contracts'],
      ['allExercises', 'explore.exercises'],
      ['allUpdates', 'explore.updates'],
      ['allTokenTransfers', 'explore.token_transfers'],
      ['allTypedSpliceAmuletAmulets', 'typed.splice_amulet__amulet'],
      ['allTypedTokenHoldingV1Holdings', 'typed.token_holding_v1__holding'],
    ] as const;

    /** Number of rows that the role sees in a direct connection to the database. */
    async function countAs(role: string, view: string): Promise<number> {
      const client = new Client({ connectionString: demo.url });
      await client.connect();
      try {
        await client.query(`set role ${role}`);
        const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${view}`);
        return rows[0]?.count ?? -1;
      } finally {
        await client.end();
      }
    }

    it.each([
      ['no token', async () => ({}), 401],
      ['a token of another key', () => bearer(randomBytes(32).toString('hex'), 'ann'), 401],
      ['a token for another audience', () => bearer(secret, 'ann', { audience: 'other' }), 401],
      ['an expired token', () => bearer(secret, 'ann', { expires: '-1m' }), 401],
      ['a claim without a role', () => bearer(secret, 'mallory'), 403],
      ['the claim "constructor"', () => bearer(secret, 'constructor'), 403],
    ] as const)('are rejected with %s', async (_, headers, status) => {
      const response = await api.ask('{ latestOffset allContractsList { contractId } }', {}, await headers());
      expect([response.status, response.data ?? null]).toEqual([status, null]);
      expect(response.errors).toHaveLength(1);
    });

    it('receive an error for a role that the login may not use', async () => {
      const response = await api.ask('{ allContractsList { contractId } }', {}, await bearer(secret, 'eve'));
      expect(response.errors.length).toBeGreaterThan(0);
      expect(response.data?.['allContractsList'] ?? null).toBeNull();
    });
  });
});

/** Whether the party is one of the row's parties, or of its contract's parties. */
function mentionsParty(row: Json, party: string): boolean {
  const partyFields = ['signatories', 'observers', 'actingParties', 'witnesses'].some(
    (name) => Array.isArray(row[name]) && (row[name] as string[]).includes(party),
  );
  return (
    partyFields ||
    row['owner'] === party ||
    (typeof row['contract'] === 'object' && row['contract'] !== null && mentionsParty(row['contract'] as Json, party))
  );
}
