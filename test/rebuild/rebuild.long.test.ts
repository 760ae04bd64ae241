/**
 * A schema is rebuilt while the indexer runs, and swapped. It must equal a fresh index with the same configuration.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { complete, stopWriter, prepareSwap, swap } from '../../src/store/swap/swap.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { rebuild, value, fromGenesis } from './world.ts';

let world: HistoryWorld;
beforeEach(async () => {
  world = await HistoryWorld.open(120);
});
afterEach(() => world.close());

const schemas = (): Promise<unknown> =>
  value(world, `select array_agg(nspname::text order by nspname) from pg_namespace where nspname like 'ledger%'`);
const digests = (...names: readonly string[]): Promise<readonly string[]> =>
  Promise.all(names.map((name) => digestOf(world.database.url, name)));

describe('rebuilt schema', { timeout: 120_000 }, () => {
  it('equals a fresh index after the indexer has continued', async () => {
    await world.index('ledger', fromGenesis);
    // This epoch is above that of the new schema.
    await query(world.database.url, 'update ledger.stream set epoch = 1000');
    await using indexer = await world.run('ledger', fromGenesis);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const epoch = Number(await value(world, 'select epoch from ledger.stream'));
    expect(await rebuild(world, '--yes')).toMatch(/^done: swapped at offset \d+; write pause \d+ ms$/mu);
    expect(Number(await value(world, 'select epoch from ledger.stream'))).toBeGreaterThan(epoch);
    world.grow(100);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await world.index('fresh', fromGenesis);
    const [ledger, freshDigest] = await digests('ledger', 'fresh');
    expect(ledger).toBe(freshDigest);
    expect(await world.broken()).toEqual([]);
    expect(await schemas()).toEqual(['ledger', 'ledger_previous']);
    expect(await value(world, `select state from ledger.jobs where name = 'rebuild'`)).toBe('done');
  });

  it('contains the history of a new filter, and an indexer with the previous filter parks', async () => {
    const [party = ''] = world.sandbox.ledger.localParties();
    const narrowEnv = { ...fromGenesis, LEDGER_PARTIES: party };
    await using indexer = await world.run('ledger', narrowEnv);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const plan = await rebuild(world, '', fromGenesis);
    expect(plan).toContain(`parties: `);
    expect(plan).toContain('nothing was changed; to do it, run: ledger-indexer rebuild --yes');
    expect(await schemas()).toEqual(['ledger']);
    await rebuild(world, '--yes', fromGenesis);
    await waitFor('the indexer with the previous filter parks', async () =>
      (await indexer.status()).state === 'parked' ? true : undefined,
    );
    const line = indexer.log.findLast((text) => text.includes('"msg":"parked: an operator is needed"')) ?? '';
    expect(line).toContain('"code":"FILTER_CHANGED"');
    await indexer[Symbol.asyncDispose]();
    world.grow(50);
    await world.index('ledger', fromGenesis);
    await world.index('fresh', fromGenesis);
    const [ledger, freshDigest] = await digests('ledger', 'fresh');
    expect(ledger).toBe(freshDigest);
  });

  it('stores exercise arguments in the requested JSON type and returns the same rows', async () => {
    await world.index('ledger', fromGenesis);
    const exercisesQuery =
      'select count(*), md5(string_agg(argument::text, $$ $$ order by "offset", node_id)) from explore.exercises';
    const exercisesBefore = await query(world.database.url, exercisesQuery);
    await rebuild(world, '--yes', { INDEXER_EXERCISE_JSON: 'json' });
    const type = `select format_type(atttypid, null) from pg_attribute where attrelid = 'ledger.exercises'::regclass and attname = 'argument'`;
    expect(await value(world, type)).toBe('json');
    expect(await query(world.database.url, exercisesQuery)).toEqual(exercisesBefore);
    // Compares with another schema, because the type of existing tables does not change.
    await world.index('fresh_json', { ...fromGenesis, INDEXER_EXERCISE_JSON: 'json' });
    const [ledger, freshDigest] = await digests('ledger', 'fresh_json');
    expect(ledger).toBe(freshDigest);
  });

  it('begins at the pruned offset with the contracts active at that offset', async () => {
    await world.index('ledger', fromGenesis);
    const completions =
      'select "offset", command_id, status_code from ledger.completions where "offset" <= 100 order by 1';
    const completionRows = await query(world.database.url, completions);
    expect(completionRows.length).toBeGreaterThan(0);
    expect(await rebuild(world, '')).not.toContain('missing');
    world.sandbox.ledger.pruneTo(100);
    world.grow(30);
    expect(await rebuild(world, '')).toMatch(
      /stored history begins at offset 0;.*\n +the new one begins at offset 100: stored history of offsets 1 to 100 will be missing\n/,
    );
    await rebuild(world, '--yes');
    await world.index('ledger');
    expect(await value(world, 'select from_offset from ledger.coverage')).toBe('100');
    // Data that the participant no longer returns was copied.
    expect(await query(world.database.url, completions)).toEqual(completionRows);
    expect(await value(world, 'select min(from_offset) from ledger.completion_ranges')).toBe('0');
    const activeBefore = await world.active();
    await world.index('fresh');
    expect(await world.active('fresh')).toEqual(activeBefore);
    expect(await world.broken()).toEqual([]);
  });
});

describe('previous schema', { timeout: 120_000 }, () => {
  it('is restored by --rollback, catches up, and is deleted by --drop-previous', async () => {
    await using indexer = await world.run('ledger', fromGenesis);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await rebuild(world, '--yes');
    world.grow(60);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const isNewerStorage = await value(world, `select 'ledger.updates'::regclass::oid`);
    await expect(rebuild(world, '--yes')).rejects.toMatchObject({
      code: 'REBUILD_REFUSED',
      remedy: expect.stringContaining('--drop-previous') as string,
    });
    await rebuild(world, '--rollback --yes');
    expect(await value(world, `select 'ledger_previous.updates'::regclass::oid`)).toBe(isNewerStorage);
    world.grow(60);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await world.index('fresh', fromGenesis);
    const [ledger, freshDigest] = await digests('ledger', 'fresh');
    expect(ledger).toBe(freshDigest);
    expect(await rebuild(world, '--drop-previous')).toContain('would be deleted');
    expect(await schemas()).toEqual(['ledger', 'ledger_previous']);
    await rebuild(world, '--drop-previous --yes');
    expect(await schemas()).toEqual(['ledger']);
    await expect(rebuild(world, '--rollback --yes')).rejects.toMatchObject({ code: 'REBUILD_REFUSED' });
    await expect(rebuild(world, '--drop-previous --yes')).rejects.toMatchObject({ code: 'REBUILD_REFUSED' });
    await rebuild(world, '--yes');
    world.grow(20);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  });
});

describe('rebuild', { timeout: 120_000 }, () => {
  it('does not swap with --no-swap, and swaps the same schema in the next run', async () => {
    await world.index('ledger', fromGenesis);
    expect(await rebuild(world, '--no-swap --yes')).toContain('schema "ledger_next" has caught up');
    const filled = await value(world, `select 'ledger_next.updates'::regclass::oid`);
    world.grow(40);
    await world.index('ledger', fromGenesis);
    await rebuild(world, '--yes');
    expect(await value(world, `select 'ledger.updates'::regclass::oid`)).toBe(filled);
    await world.index('fresh', fromGenesis);
    const [ledger, freshDigest] = await digests('ledger', 'fresh');
    expect(ledger).toBe(freshDigest);
  });

  it('refuses a swap before the new schema has caught up, and copies concurrent redactions', async () => {
    await world.index('ledger', fromGenesis);
    await rebuild(world, '--no-swap --yes');
    const contract = String(
      await value(world, 'select contract_id from explore.contracts where not is_active limit 1'),
    );
    await runCommand(redactCommand, ['contract', contract, '--reason', 'asked', '--yes'], world.env());
    world.grow(20);
    await world.index('ledger', fromGenesis);
    {
      await using storages = openStorages();
      const { live: liveStorage, next } = storages;
      const swapArgs = {
        prepared: await prepareSwap(liveStorage, next),
        target: 'next',
        ahead: false,
        notify: false,
      } as const;
      const writerStopped = await stopWriter(liveStorage);
      const last = await complete(liveStorage, next);
      const behindSwap = swap(liveStorage, { ...swapArgs, writerStopped, last, writer: 'test' });
      await expect(behindSwap).rejects.toMatchObject({ code: 'WRITER_FENCED' });
      // The new schema has caught up with an earlier checkpoint of the live stream.
      const filled = Number(await value(world, 'select checkpoint from ledger_next.stream'));
      const movedSwap = swap(liveStorage, {
        ...swapArgs,
        writerStopped: { ...writerStopped, checkpoint: filled },
        last,
        writer: 'test',
      });
      await expect(movedSwap).rejects.toMatchObject({ code: 'WRITER_FENCED' });
    }
    expect(await schemas()).toEqual(['ledger', 'ledger_next']);
    await rebuild(world, '--yes');
    const redactedSql = `select payload is null as gone, redaction_id is not null as noted from ledger.contracts
      where ledger.id_text(contract_id) = '${contract}'`;
    expect(await query(world.database.url, redactedSql)).toEqual([{ gone: true, noted: true }]);
    expect(await schemas()).toEqual(['ledger', 'ledger_previous']);
  });

  it('waits while its job is paused, and deletes the new schema when its job is cancelled', async () => {
    await world.index('ledger', fromGenesis);
    const execute = (text: string) => query(world.database.url, text);
    // A client with an open transaction blocks the swap until the transaction ends.
    const reader = await openReader(world.database.url);
    const runningRebuild = rebuild(world, '--yes');
    await waitFor(
      'the swap is hindered',
      async () => (await value(world, `select problem from ledger.jobs where name = 'rebuild'`)) ?? undefined,
    );
    await execute(`update ledger.jobs set state = 'paused' where name = 'rebuild'`);
    await waitFor('no process writes to the next schema', async () => {
      const holders = `select count(*) from pg_locks where locktype = 'advisory' and objid = hashtext('ledger_next')::oid and granted`;
      return (await value(world, holders)) === '0' ? true : undefined;
    });
    expect(await schemas()).toEqual(['ledger', 'ledger_next']);
    await reader.end();
    await execute(`update ledger.jobs set state = 'requested' where name = 'rebuild'`);
    expect(await runningRebuild).toContain('done: swapped');
    await rebuild(world, '--drop-previous --yes');

    const secondReader = await openReader(world.database.url);
    const second = rebuild(world, '--yes');
    await waitFor(
      'the swap is hindered',
      async () => (await value(world, `select problem from ledger.jobs where name = 'rebuild'`)) ?? undefined,
    );
    await execute(`delete from ledger.jobs where name = 'rebuild'`);
    expect(await second).toContain('the rebuild was cancelled, and its schema is deleted');
    expect(await schemas()).toEqual(['ledger']);
    await secondReader.end();
  });
});

/** Opens databases for both schemas, as the swap does. */
function openStorages() {
  const openSchema = (schema: string) =>
    openDatabase({ url: world.database.url, schema, statementTimeoutMs: 30_000, applicationName: 'test' });
  const [liveStorage, next] = [openSchema('ledger'), openSchema('ledger_next')];
  return {
    live: liveStorage,
    next,
    [Symbol.asyncDispose]: async () => {
      await liveStorage.close();
      await next.close();
    },
  };
}

/** Opens a client with an open transaction that has read. */
async function openReader(url: string) {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('begin; select count(*) from explore.updates');
  return client;
}
