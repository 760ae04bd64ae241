/** Queries on the query page, sent locally and with tokens. */
import { waitFor } from '../../support/wait-for.ts';
import { heldVerdict, verdict, type Attempt, type Group } from '../attempt.ts';
import { requestQueryPage, queryLocally, queryWithToken, bearer, type Answer } from '../wire/ask.ts';
import type { World } from '../world/world.ts';

type QueryClient = 'here' | 'limited' | 'all';

const queryAs = (world: World, queryClient: QueryClient, statement: string, path?: string): Promise<Answer> =>
  queryClient === 'here'
    ? queryLocally(world, statement, path)
    : queryWithToken(world, world.tokens[queryClient].token, statement, path);

/** An attempt whose query must be rejected. */
const refusedAttempt = (
  queryClient: QueryClient,
  id: string,
  statement: string | ((world: World) => string),
): Attempt => ({
  id: `question-${queryClient}-${id}`,
  what: `asks ${typeof statement === 'string' ? statement : id}`,
  expected: 'a refusal, with a status of 400 or more',
  run: async (world) => {
    const text = typeof statement === 'string' ? statement : statement(world);
    const { status, body } = await queryAs(world, queryClient, text);
    return verdict(status >= 400 && status !== 503, `status ${String(status)}: ${body}`);
  },
});

const writes = [
  ['insert', `insert into ledger.synchronizers values (997, 'x')`],
  ['update', 'update ledger.stream set checkpoint = 1'],
  ['data-change-in-with', 'with gone as (delete from ledger.live returning 1) select count(*) from gone'],
  ['drop', 'drop table ledger.updates'],
  ['two-statements', 'select 1; drop table ledger.updates'],
  ['commit-first', 'commit; drop table ledger.updates'],
  ['comment-first', '/* select */ drop table ledger.updates'],
  ['nested-comment', '/* /* */ select 1; */ delete from ledger.updates'],
  ['dollar-quote', 'do $$ begin perform 1; end $$'],
  ['copy-out', 'copy ledger.updates to stdout'],
  ['copy-program', `copy (select 1) to program 'id'`],
  ['select-into', 'select 1 as a into public.mine'],
  ['create-as', 'create table public.mine as select 1'],
  ['explain-analyze-delete', 'explain (analyze) delete from ledger.updates'],
  ['explain-execute', 'explain analyze execute mine'],
  ['listen', 'listen ledger_offset'],
  ['set', 'set row_security = off'],
  ['lock', 'lock table ledger.stream'],
  ['for-update', 'select 1 from ledger.stream for update'],
  ['for-share', 'select 1 from ledger.stream for share'],
  ['large-object', `select lo_from_bytea(0, 'x')`],
  ['read-write-by-function', `select set_config('transaction_read_only', 'off', true), lo_create(0)`],
  ['advisory-lock', 'select pg_advisory_lock(1)'],
  ['advisory-lock-table', 'select count(pg_advisory_lock(1000000000::bigint + i)) from generate_series(1, 12980) i'],
  ['file', `select pg_read_file('/etc/passwd')`],
  ['file-list', `select pg_ls_dir('.')`],
  ['verifiers', 'select rolpassword from pg_authid'],
  ['statistics', 'select * from pg_statistic'],
  ['nul', 'select 1\u0000'],
  [
    'end-sessions',
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'ledger-indexer%' and usename <> current_user`,
  ],
  ['snapshot-of-wal', `select pg_logical_emit_message(false, 'x', 'x')`],
  ['write-by-xml', `select query_to_xml('delete from ledger.updates returning 1', true, false, '')`],
  ['write-by-ts-stat', `select * from ts_stat('delete from ledger.updates returning to_tsvector(update_id::text)')`],
] as const;

const queryClients = ['here', 'limited', 'all'] as const;

const plans = [
  ['plain', 'explain select 1 from ledger.updates'],
  ['analyze', 'explain (analyze, costs off) select 1 from ledger.updates'],
  ['spaces', '\n\t  ExPlAiN(verbose)select 1'],
  ['comment', '-- a\n/* b */ explain select 1'],
].map(([id, statement]) => refusedAttempt('limited', `explain-${id ?? ''}`, statement ?? ''));

/** Tries to get a plan through a function that runs a text. Postgres builds without XML reject the XML functions. */
const planByXml = (id: string, statement: (world: World) => string): Attempt => ({
  id: `question-limited-explain-by-${id}`,
  what: 'has a function of Postgres run EXPLAIN ANALYZE for a hidden row',
  expected: 'no plan is returned',
  run: async (world) => {
    const { status, body } = await queryAs(world, 'limited', statement(world));
    const isPlan = /Seq Scan|Index Scan|Rows Removed|SubPlan|never executed|QUERY_x0020_PLAN|cost=/.test(body);
    return verdict(!isPlan, `status ${String(status)}: ${body}`);
  },
});

const plan = ({ hidden: hiddenUpdate }: World): string =>
  `explain (analyze, costs off) select 1 from ledger.updates where "offset" = ${String(hiddenUpdate.offset)} and command_id < ''z''`;

const plansByFunction = [
  planByXml('xml', (world) => `select query_to_xml('${plan(world)}', true, false, '')::text`),
  planByXml('xml-and-schema', (world) => `select query_to_xml_and_xmlschema('${plan(world)}', true, true, '')::text`),
  planByXml('ts-stat', (world) => `select * from ts_stat('${plan(world)}')`),
];

const secrets = (['here', 'all', 'limited'] as const).flatMap((queryClient) =>
  ['webhook_secrets', 'reader_tokens'].map((table): Attempt => ({
    id: `question-${queryClient}-${table.replace('_', '-')}`,
    what: `reads ${table}`,
    expected: 'no row',
    run: async (world) => {
      const { status, body } = await queryAs(world, queryClient, `select * from ledger.${table}`);
      return verdict(status >= 400 || /"rows":\[\]/.test(body), `status ${String(status)}: ${body}`);
    },
  })),
);

const hiddenRows = [
  ['role-none', (w) => `select update_id, set_config('role', 'none', true) from ledger.updates where "offset" = ${w}`],
  [
    'role-owner',
    (w, superuser) =>
      `select set_config('role', '${superuser}', true), update_id from ledger.updates where "offset" = ${w}`,
  ],
  [
    'security-off',
    (w) => `select set_config('row_security', 'off', true), update_id from ledger.updates where "offset" = ${w}`,
  ],
  [
    'session',
    (w, superuser) =>
      `select set_config('session_authorization', '${superuser}', true), update_id from ledger.updates where "offset" = ${w}`,
  ],
  ['path', (w) => `select set_config('search_path', 'ledger', true), update_id from updates where "offset" = ${w}`],
] satisfies readonly (readonly [string, (offset: string, superuser: string) => string])[];

const hiddenReadAttempts = hiddenRows.map(([id, statement]): Attempt => ({
  id: `question-limited-hidden-${id}`,
  what: 'changes who it is within the statement, and reads a hidden update',
  expected: 'no row of the hidden update, or a refusal',
  run: async (world) => {
    const { status, body } = await queryAs(world, 'limited', statement(String(world.hidden.offset), world.superuser));
    return verdict(status >= 400 || /"rows":\[\]/.test(body), `status ${String(status)}: ${body}`);
  },
}));

const idColumns = ['updateId', 'offset', 'contractId'] as const;
const explainAttempts = idColumns.map((key): Attempt => ({
  id: `question-limited-explained-${key.toLowerCase()}`,
  what: `requests /query/explain for the ${key} of a hidden update`,
  expected: 'nothing of it',
  run: async (world) => {
    const headers = { ...bearer(world.tokens.limited.token), 'content-type': 'application/json' };
    const body = JSON.stringify({ id: String(world.hidden[key]) });
    const response = await requestQueryPage(`${world.httpUrl}/query/explain`, { method: 'POST', headers, body });
    const { updateId, contractId, commandId } = world.hidden;
    const otherIds = [updateId, contractId, commandId].filter((id) => id !== String(world.hidden[key]));
    const isLeaked = otherIds.some((id) => response.body.includes(id));
    return verdict(!isLeaked, `status ${String(response.status)}: ${response.body}`);
  },
}));

const formulas = ['=1+1', ' =1+1', 'a;=1+1', '\t=1', '@SUM(1)', '-2+3', 'a\n=1', 'x|=1'].map(
  (text, index): Attempt => ({
    id: `csv-formula-${String(index + 1)}`,
    what: `exports ${JSON.stringify(text)}, which a spreadsheet may run`,
    expected: 'an apostrophe before it',
    run: async (world) => {
      const { status, body } = await queryLocally(
        world,
        `select e'${text.replace('\n', '\\n').replace('\t', '\\t')}' as a`,
        '/query/csv',
      );
      return verdict(status === 200 && body.includes(`'`), `status ${String(status)}: ${JSON.stringify(body)}`);
    },
  }),
);

const sessions: readonly Attempt[] = [
  {
    id: 'question-leaves-no-setting',
    what: 'changes a setting for the session, and sends another query',
    expected: 'the next query has a new session',
    run: async (world) => {
      await queryLocally(
        world,
        `select set_config('search_path', 'evil', false), set_config('statement_timeout', '0', false)`,
      );
      const { body } = await queryLocally(
        world,
        `select current_setting('search_path') || current_setting('statement_timeout')`,
      );
      return verdict(!body.includes('evil'), body);
    },
  },
  {
    id: 'question-of-a-client-that-left',
    what: 'sends a query of 25 seconds, and disconnects at once',
    expected: 'its statement is cancelled in Postgres',
    run: async (world) => {
      const mark = 'left at once';
      const headers = { ...bearer(world.tokens.all.token), 'content-type': 'application/json' };
      const body = JSON.stringify({ statement: `select pg_sleep(25), '${mark}'` });
      await requestQueryPage(`${world.httpUrl}/query`, { method: 'POST', headers, body, limitMs: 1_500 });
      const runningSql = `select from pg_stat_activity where query like '%${mark}%' and pid <> pg_backend_pid() and state = 'active'`;
      await waitFor(
        'the statement has ended',
        async () => ((await world.admin.query(runningSql)).rowCount === 0 ? true : undefined),
        15_000,
      );
      return heldVerdict('the statement has ended');
    },
  },
  {
    id: 'questions-more-than-three',
    what: 'sends five queries at a time with one token',
    expected: 'three run, two get 503, and another token gets a response',
    run: async (world) => {
      const { all: allToken, limited: limitedToken } = world.tokens;
      const fiveRequests = Array.from({ length: 5 }, () => queryWithToken(world, allToken.token, 'select pg_sleep(4)'));
      const otherResponse = queryWithToken(world, limitedToken.token, 'select 1');
      const statuses = (await Promise.all(fiveRequests)).map(({ status }) => status);
      const busyCount = statuses.filter((status) => status === 503).length;
      return verdict(
        busyCount === 2 && (await otherResponse).status === 200,
        `${statuses.join(', ')}; other: ${String((await otherResponse).status)}`,
      );
    },
  },
];

export const consoleQuestions: Group = {
  name: 'console-questions',
  what: 'queries of the query page',
  quick: true,
  attempts: [
    ...queryClients.flatMap((queryClient) =>
      writes.map(([id, statement]) => refusedAttempt(queryClient, id, statement)),
    ),
    ...[plans, plansByFunction, secrets, hiddenReadAttempts, explainAttempts, formulas, sessions].flat(),
  ],
};
