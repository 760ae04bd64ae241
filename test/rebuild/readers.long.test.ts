/**
 * Clients of several kinds read during swaps. No client gets an error, and no query returns an older checkpoint than
 * any client had read before the query began.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HistoryWorld } from '../history/history-run.ts';
import { digestOf } from '../support/digest.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { rebuild, viewOf, fromGenesis } from './world.ts';

let world: HistoryWorld;
let typed: string;
beforeAll(async () => {
  world = await HistoryWorld.open(150);
  await using indexer = await world.run('ledger', fromGenesis);
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  typed = await viewOf(world, `select view_name from ledger.typed_views where kind = 'template' limit 1`);
});
afterAll(() => world.close());

/** The newest checkpoint that any client has read. */
let seen = 0;
const found: string[] = [];
const reads = new Map<string, number>();

type Ask = (name: string, text: string) => Promise<Record<string, unknown>>;

/** The query that each client repeats. Resolves to the checkpoint that it read. */
const readers: Readonly<Record<string, (ask: Ask) => Promise<number>>> = {
  'a prepared statement of explore': async (ask) =>
    Number((await ask('a', 'select explore.latest_offset() as at, count(*) from explore.contracts'))['at']),
  'a prepared statement of the storage': async (ask) =>
    Number((await ask('b', 'select * from ledger.stream'))['checkpoint']),
  'two reads in a transaction': async (ask) => {
    await ask('begin', 'begin');
    const first = Number((await ask('c', 'select max("offset") as at from explore.updates'))['at']);
    await pause(5);
    const second = Number((await ask('d', 'select explore.latest_offset() as at'))['at']);
    await ask('commit', 'commit');
    if (second < first) found.push(`in one transaction ${String(second)} after ${String(first)}`);
    return second;
  },
  'a snapshot taken before anything is read': async (ask) => {
    await ask('begin', 'begin isolation level repeatable read');
    await ask('e', 'select txid_current_if_assigned()');
    await pause(15);
    const at = Number((await ask('f', 'select explore.latest_offset() as at'))['at']);
    const updates = Number((await ask('g', 'select max("offset") as at from explore.updates'))['at']);
    await ask('commit', 'commit');
    if (updates > at) found.push(`an update at ${String(updates)} under the checkpoint ${String(at)}`);
    return at;
  },
  'functions of pqs': async (ask) => {
    await ask('h', 'select count(*) from pqs.active()');
    return Number((await ask('i', 'select pqs.latest_offset() as at'))['at']);
  },
  'a typed view': async (ask) =>
    Number((await ask('j', `select count(*), explore.latest_offset() as at from typed."${typed}__history"`))['at']),
};

async function readOn(name: string, read: (ask: Ask) => Promise<number>, stop: AbortSignal): Promise<void> {
  const client = new Client({ connectionString: world.database.url, application_name: `reader: ${name}` });
  await client.connect();
  const ask: Ask = async (statement, text) =>
    (await client.query<Record<string, unknown>>({ name: statement, text })).rows[0] ?? {};
  while (!stop.aborted) {
    const before = seen;
    try {
      const at = await read(ask);
      if (at < before) found.push(`${name}: ${String(at)} after ${String(before)} was seen`);
      seen = Math.max(seen, at);
      reads.set(name, (reads.get(name) ?? 0) + 1);
    } catch (thrown) {
      found.push(`${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      break;
    }
    await pause(3);
  }
  await client.end();
}

describe('queries during schema swaps', { timeout: 240_000 }, () => {
  it('return no errors or earlier checkpoints, also during a rollback', async () => {
    await using indexer = await world.run('ledger', fromGenesis);
    const stop = new AbortController();
    const loops = Object.entries(readers).map(([name, read]) => readOn(name, read, stop.signal));
    const growing = (async () => {
      while (!stop.signal.aborted) {
        world.grow(2);
        await pause(40);
      }
    })();
    for (const words of ['--yes', '--rollback --yes', '--rollback --yes']) {
      const counts = new Map(reads);
      expect(await rebuild(world, words)).toContain('done: swapped');
      for (const name of Object.keys(readers)) {
        await waitFor(`${name} goes on`, () =>
          (reads.get(name) ?? 0) > (counts.get(name) ?? 0) + 3 || found.length > 0 ? true : undefined,
        );
      }
    }
    stop.abort();
    await Promise.all([...loops, growing]);
    expect(found).toEqual([]);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await world.index('fresh', fromGenesis);
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });
});
