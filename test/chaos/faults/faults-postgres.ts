/** Faults of the Postgres server, caused by statements of an administrator. */
import { Client, escapeIdentifier } from 'pg';
import type { ChaosWorld, FaultKind } from './fault-kind.ts';
import { schema } from '../databases.ts';
import { pause } from '../../support/wait-for.ts';

const bothMoments = ['seed', 'follow'] as const;

/**
 * The fault happens after a number of messages to the server. This makes it depend on the work of the indexer instead
 * of the clock.
 */
function faultDuringWork(
  name: string,
  provokeFault: (world: ChaosWorld) => Promise<boolean>,
  phases: FaultKind['moments'] = bothMoments,
): FaultKind {
  return {
    name: `postgres: ${name}`,
    moments: phases,
    arm: async (world) => {
      // Some faults have no effect if no session is active at that moment. Then another moment is tried.
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await world.wires.armAfter('postgres', 'up', world.random.between(0, 60), () => ({ act: 'pass' }));
        if (await provokeFault(world).catch(() => false)) return;
      }
      await new Promise(() => undefined);
    },
  };
}

const otherSessionsSql = `datname = current_database() and backend_type = 'client backend'`;

const writing = `application_name like 'ledger-indexer%' and application_name <> 'ledger-indexer lock'`;

async function signalBackends({ database }: ChaosWorld, call: string, backendFilter: string): Promise<boolean> {
  const { rows } = await database.aside.query<{ done: boolean }>(
    `select ${call}(pid) as done from pg_stat_activity where ${otherSessionsSql} and ${backendFilter}`,
  );
  return rows.some(({ done: isDone }) => isDone);
}

/** Runs `statements` in a transaction on its own connection, and holds the transaction open for `ms`. */
async function holding({ database }: ChaosWorld, statements: readonly string[], ms: number): Promise<void> {
  const client = new Client({ connectionString: database.url, application_name: 'chaos holder' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin');
    for (const statement of statements) await client.query(statement);
    await pause(ms);
  } finally {
    await client.query('rollback').catch(() => undefined);
    await client.end();
  }
}

/** Changes a database setting for `ms`. It takes effect in new sessions, so the open ones are ended. */
async function withTemporarySetting(world: ChaosWorld, setting: string, value: string, ms: number): Promise<boolean> {
  const { database } = world;
  const name = escapeIdentifier(database.name);
  await database.aside.query(`alter database ${name} set ${setting} = ${value}`);
  try {
    await signalBackends(world, 'pg_terminate_backend', `application_name like 'ledger-indexer%'`);
    await pause(ms);
  } finally {
    await database.aside.query(`alter database ${name} reset ${setting}`);
    await signalBackends(world, 'pg_terminate_backend', `application_name like 'ledger-indexer%'`);
  }
  return true;
}

export const postgresFaults: readonly FaultKind[] = [
  faultDuringWork('all sessions terminated', (world) =>
    signalBackends(world, 'pg_terminate_backend', `application_name like 'ledger-indexer%'`),
  ),
  faultDuringWork('the session of the lock terminated', (world) =>
    signalBackends(world, 'pg_terminate_backend', `application_name = 'ledger-indexer lock'`),
  ),
  faultDuringWork('a working session terminated', (world) =>
    signalBackends(world, 'pg_terminate_backend', `${writing} and state <> 'idle'`),
  ),
  faultDuringWork('a statement cancelled', (world) =>
    signalBackends(world, 'pg_cancel_backend', `${writing} and state <> 'idle'`),
  ),
  faultDuringWork('a table locked for a while', async (world) => {
    await holding(
      world,
      [`set local lock_timeout = '2s'`, `lock table ${schema}.contracts in access exclusive mode`],
      60,
    );
    return true;
  }),
  faultDuringWork('the stream row locked for a while', async (world) => {
    await holding(world, [`set local lock_timeout = '2s'`, `select from ${schema}.stream for update`], 60);
    return true;
  }),
  faultDuringWork('read-only for a while', (world) =>
    withTemporarySetting(world, 'default_transaction_read_only', 'on', 40),
  ),
  faultDuringWork(
    'another writer takes the epoch',
    async ({ database }) => {
      const { rowCount } = await database.aside.query(`update ${schema}.stream set epoch = epoch + 1`);
      return rowCount === 1;
    },
    ['follow'],
  ),
];
