/** `check` on a server whose transaction ids run out because an open transaction prevents freezing. */
import { assessTransactionIds } from '../../../src/cli/check/operation-checks.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { programInProcess } from '../../cli/in-process.ts';

interface Line {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

it('check warns if autovacuum does not keep up with transaction ids', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transaction-ids-'));
  // The lowest value that Postgres accepts. The test uses twice as many ids in a second.
  const settings = { autovacuum_freeze_max_age: '100000', fsync: 'off' };
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings });
  const openClient = new Client({ connectionString: server.url });
  const user = new Client({ connectionString: server.url });
  const line = async (): Promise<Line | undefined> => {
    const { stdout } = await programInProcess(['check', '--json'], { DATABASE_URL: server.url });
    return (JSON.parse(stdout) as { checks: readonly Line[] }).checks.find(({ name }) => name === 'transaction ids');
  };
  try {
    expect(await line()).toMatchObject({ state: 'pass' });
    await Promise.all([openClient.connect(), user.connect()]);
    await openClient.query('begin; select pg_current_xact_id()');
    await user.query(
      `do $$ begin for i in 1..210000 loop
         begin perform pg_logical_emit_message(true, 'x', ''); exception when division_by_zero then null; end;
       end loop; end $$`,
    );
    expect(await line()).toMatchObject({
      state: 'warn',
      found: expect.stringMatching(/^database "\w+" is 2\d\d,\d{3} transactions old: at two billion/) as string,
      fix: expect.stringContaining('vacuumdb --all --freeze') as string,
    });
  } finally {
    await Promise.all([openClient.end(), user.end()]);
    await server.stop();
    rmSync(folder, { recursive: true });
  }
});

it.each([
  [150_000_000, 'pass'],
  [600_000_000, 'warn'],
  // At this age, a Postgres 15 server rejected writes.
  [2_144_483_647, 'fail'],
])('check reports a database that is %d transactions old: %s', (age, state) => {
  expect(assessTransactionIds({ database: 'ledger', age, freezeAge: 200_000_000 })).toMatchObject({ state });
});
