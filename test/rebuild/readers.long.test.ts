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
let typedViewName: string;
beforeAll(async () => {
  world = await HistoryWorld.open(150);
  await using indexer = await world.run('ledger', fromGenesis);
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  typedViewName = await viewOf(world, `select view_name from ledger.typed_views where kind = 'template' limit 1`);
});
afterAll(() => world.close());

/** The newest checkpoint that any client has read. */
let highestOffset = 0;
const problems: string[] = [];
const readsByName = new Map<string, number>();

type NamedQuery = (name: string, text: string) => Promise<Record<string, unknown>>;

/** The query that each client repeats. Resolves to the checkpoint that it read. */
const readers: Readonly<Record<string, (query: NamedQuery) => Promise<number>>> = {
  'a prepared statement of explore': async (query) =>
    Number((await query('a', 'select explore.latest_offset() as at, count(*) from explore.contracts'))['at']),
  'a prepared statement of the storage': async (query) =>
    Number((await query('b', 'select * from ledger.stream'))['checkpoint']),
  'two reads in a transaction': async (query) => {
    await query('begin', 'begin');
    const first = Number((await query('c', 'select max("offset") as at from explore.updates'))['at']);
    await pause(5);
    const second = Number((await query('d', 'select explore.latest_offset() as at'))['at']);
    await query('commit', 'commit');
    if (second < first) problems.push(`in one transaction ${String(second)} after ${String(first)}`);
    return second;
  },
  'a snapshot taken before anything is read': async (query) => {
    await query('begin', 'begin isolation level repeatable read');
    await query('e', 'select txid_current_if_assigned()');
    await pause(15);
    const at = Number((await query('f', 'select explore.latest_offset() as at'))['at']);
    const updates = Number((await query('g', 'select max("offset") as at from explore.updates'))['at']);
    await query('commit', 'commit');
    if (updates > at) problems.push(`an update at ${String(updates)} under the checkpoint ${String(at)}`);
    return at;
  },
  'functions of pqs': async (query) => {
    await query('h', 'select count(*) from pqs.active()');
    return Number((await query('i', 'select pqs.latest_offset() as at'))['at']);
  },
  'a typed view': async (query) =>
    Number(
      (await query('j', `select count(*), explore.latest_offset() as at from typed."${typedViewName}__history"`))['at'],
    ),
};

async function repeatRead(
  name: string,
  runRead: (query: NamedQuery) => Promise<number>,
  stop: AbortSignal,
): Promise<void> {
  const client = new Client({ connectionString: world.database.url, application_name: `reader: ${name}` });
  await client.connect();
  const query: NamedQuery = async (statement, text) =>
    (await client.query<Record<string, unknown>>({ name: statement, text })).rows[0] ?? {};
  while (!stop.aborted) {
    const seenBefore = highestOffset;
    try {
      const offset = await runRead(query);
      if (offset < seenBefore) problems.push(`${name}: ${String(offset)} after ${String(seenBefore)} was seen`);
      highestOffset = Math.max(highestOffset, offset);
      readsByName.set(name, (readsByName.get(name) ?? 0) + 1);
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
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
    const loops = Object.entries(readers).map(([name, runRead]) => repeatRead(name, runRead, stop.signal));
    const whenGrown = (async () => {
      while (!stop.signal.aborted) {
        world.grow(2);
        await pause(40);
      }
    })();
    for (const args of ['--yes', '--rollback --yes', '--rollback --yes']) {
      const counts = new Map(readsByName);
      expect(await rebuild(world, args)).toContain('done: swapped');
      for (const name of Object.keys(readers)) {
        await waitFor(`${name} goes on`, () =>
          (readsByName.get(name) ?? 0) > (counts.get(name) ?? 0) + 3 || problems.length > 0 ? true : undefined,
        );
      }
    }
    stop.abort();
    await Promise.all([...loops, whenGrown]);
    expect(problems).toEqual([]);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    await world.index('fresh', fromGenesis);
    expect(await digestOf(world.database.url, 'ledger')).toBe(await digestOf(world.database.url, 'fresh'));
  });
});
