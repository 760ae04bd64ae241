/**
 * Attacks by readers who exhaust resources that all databases of a Postgres server share: connections, locks,
 * notifications, memory, files and processors.
 */
import type { Client } from 'pg';
import { pause } from '../../support/wait-for.ts';
import { verdict, type Attempt, type Group, type Verdict } from '../attempt.ts';
import { queryLocally, queryWithToken } from '../wire/ask.ts';
import { survivalVerdict } from '../wire/flood.ts';
import { connected } from '../world/server.ts';
import type { Login, World } from '../world/world.ts';

const heldMs = 20_000;
const maxSessions = 200;
/** An attempt that stops ingestion for longer than this has succeeded. */
const longestStopSeconds = 2;

async function sessions(world: World, login: Login, maximum: number): Promise<readonly Client[]> {
  const openClients: Client[] = [];
  while (openClients.length < maximum) {
    const client = await connected(world.urlOf(login), 'attacker').catch(() => undefined);
    if (client === undefined) break;
    openClients.push(client);
  }
  return openClients;
}

/** Ends the sessions, whatever their state. */
async function end(world: World, clients: readonly Client[]): Promise<void> {
  await world.admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'attacker'`);
  await Promise.allSettled(clients.map((client) => client.end()));
}

function outcome(world: World, observation: string): Verdict {
  const outcomeFound = survivalVerdict(world, observation);
  const { stoppedSeconds } = world.watcher.observed();
  return verdict(outcomeFound.held && stoppedSeconds <= longestStopSeconds, outcomeFound.seen);
}

const expected = 'the indexer runs, /livez responds, and ingestion stops for at most 2 s';

/** Opens sessions of a login, each of which acquires resources and holds them. */
const holding = (
  login: Login,
  id: string,
  description: string,
  maximum: number,
  texts: readonly string[],
): Attempt => ({
  id: `${login}-${id}`,
  what: description,
  expected,
  run: async (world) => {
    const clients = await sessions(world, login, maximum);
    const failures = new Set<string>();
    for (const client of clients) {
      for (const text of texts) {
        // Not awaited, because some statements run until their session is ended.
        client.query(text).catch((error: unknown) => failures.add(String(Reflect.get(error as object, 'code'))));
      }
    }
    await pause(heldMs);
    const outcomeFound = outcome(
      world,
      `${String(clients.length)} sessions; SQLSTATE ${[...failures].join(', ') || 'none'}`,
    );
    await end(world, clients);
    return outcomeFound;
  },
});

const lockEverySql = `do $$ declare r record; begin
  for r in select c.oid::regclass as name from pg_class c
            where c.relkind in ('r', 'v') and has_table_privilege(c.oid, 'select') loop
    begin
      execute format('lock table %s in access share mode', r.name);
    exception when insufficient_privilege or wrong_object_type then null;
    end;
  end loop; end $$`;

const readAll = `begin; select count(*) from ledger.updates; select count(*) from ledger.contracts; select count(*) from ledger.stream`;

const loginAttempts: readonly Attempt[] = [
  holding('limited', 'takes-every-connection', 'opens every connection that Postgres gives', maxSessions, []),
  holding('reader', 'takes-every-connection', 'opens every connection that Postgres gives', maxSessions, []),
  holding(
    'limited',
    'fills-the-lock-table-by-reading',
    'locks every table and view in the mode of reading, in 60 sessions',
    60,
    ['begin', lockEverySql],
  ),
  holding('limited', 'holds-snapshots', 'holds 20 transactions open in which it has read everything', 20, [readAll]),
  holding('limited', 'burns-processors', 'counts endlessly in 6 sessions', 6, [
    'set statement_timeout = 0',
    'select count(*) from generate_series(1, 1000000000000)',
  ]),
  holding('reader', 'joins-without-end', 'joins large tables without a condition in 4 sessions', 4, [
    'set statement_timeout = 0',
    'select count(*) from ledger.contracts a, ledger.contracts b, ledger.contracts c',
  ]),
  holding('limited', 'makes-temporary-files', 'sorts a billion numbers in 2 sessions', 2, [
    'set statement_timeout = 0',
    'select i from generate_series(1, 1000000000) i order by i desc offset 999999999',
  ]),
  holding('limited', 'takes-memory', 'makes a text of 300 MB in 3 sessions', 3, [
    `select length(repeat('x', 300000000))`,
    `select md5(repeat('x', 300000000))`,
  ]),
];

/** Sends notifications until the queue of Postgres is full, for at most a minute. */
async function fillQueue(sender: Client | undefined): Promise<string> {
  const deadline = Date.now() + 60_000;
  try {
    while (Date.now() < deadline) {
      await sender?.query(`select count(pg_notify('x', repeat('z', 7900) || i)) from generate_series(1, 500) i`);
    }
    return 'the queue did not fill within a minute';
  } catch (error) {
    return `SQLSTATE ${String(Reflect.get(error as object, 'code'))}`;
  }
}

const fillNoticeQueue: Attempt = {
  id: 'limited-fills-the-queue-of-notices',
  what: 'listens in a transaction, and sends notices until the queue is full',
  expected,
  run: async (world) => {
    const clients = await sessions(world, 'limited', 2);
    const [listener, sender] = clients;
    await listener?.query('listen x');
    await listener?.query('begin; select 1');
    const filledQueue = await fillQueue(sender);
    await pause(heldMs / 2);
    const outcomeFound = outcome(world, filledQueue);
    await end(world, clients);
    return outcomeFound;
  },
};

/** Makes a schema change wait for a reader, and writers wait for the schema change. */
const holdUpCommand: Attempt = {
  id: 'limited-holds-up-a-command',
  what: 'holds a transaction open in which it has read, while an operator limits another reader',
  expected,
  run: async (world) => {
    const clients = await sessions(world, 'limited', 1);
    await clients[0]?.query(readAll);
    const command = world.command(['grant-reader', `${world.server.rolePrefix}_behind`, '--party', world.party]);
    await pause(heldMs);
    const observation = outcome(world, 'an open transaction of a reader');
    await end(world, clients);
    const { code, stderr } = await command;
    return { ...observation, seen: `${observation.seen}; the command: exit ${String(code)} ${stderr.slice(0, 120)}` };
  },
};

/** Sends concurrent queries to the query page: three with each token, and three as local requests. */
const queryAttempt = (id: string, description: string, statement: string): Attempt => ({
  id: `questions-${id}`,
  what: description,
  expected,
  run: async (world) => {
    const { limited: limitedToken, all: allToken } = world.tokens;
    const requests = [0, 1, 2].flatMap(() => [
      queryWithToken(world, limitedToken.token, statement),
      queryWithToken(world, allToken.token, statement),
      queryLocally(world, statement),
    ]);
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    return outcome(world, `statuses ${statuses.join(', ')}`);
  },
});

const queryAttempts: readonly Attempt[] = [
  queryAttempt(
    'of-60-megabytes',
    'nine queries whose results have 60 MB',
    `select repeat('x', 600000) from generate_series(1, 100)`,
  ),
  queryAttempt('of-one-large-row', 'nine queries whose result is one text of 50 MB', `select repeat('x', 50000000)`),
  queryAttempt(
    'of-many-rows',
    'nine queries of a hundred million rows',
    'select i from generate_series(1, 100000000) i',
  ),
  queryAttempt(
    'of-many-columns',
    'nine queries of 1,600 columns',
    `select ${Array.from({ length: 1_600 }, (_, index) => `repeat('y', 1000) c${String(index)}`)
      .join(', ')
      .slice(0, 60_000)
      .replace(/,[^,]*$/, '')} from generate_series(1, 1000)`,
  ),
  queryAttempt(
    'of-temporary-files',
    'nine queries that sort for 30 s',
    'select i from generate_series(1, 1000000000) i order by i desc offset 999999999',
  ),
  queryAttempt(
    'that-recurse',
    'nine queries that recurse endlessly',
    'with recursive r(a) as (values (1) union all select a + 1 from r) select count(*) from r',
  ),
  queryAttempt(
    'of-deep-expressions',
    'nine queries of 20,000 brackets',
    `select ${'('.repeat(20_000)}1${')'.repeat(20_000)}`,
  ),
  queryAttempt(
    'of-backtracking',
    'nine queries whose regular expression backtracks',
    `select repeat('a', 5000) ~ '(a*)*(a*)*(a*)*b\\1\\2\\3'`,
  ),
];

export const sharedResources: Group = {
  name: 'shared-resources',
  what: 'readers that use up shared resources of the server',
  quick: false,
  attempts: [...loginAttempts, fillNoticeQueue, holdUpCommand, ...queryAttempts],
};
