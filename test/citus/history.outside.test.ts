/**
 * Writes the same history to plain Postgres and to Citus workers. The rows are equal, even if workers fail during the
 * writes.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { randomHistory } from '../read/random-history.ts';
import { digestOf } from '../support/digest.ts';
import { needs } from '../support/skips/needs.ts';
import { pause } from '../support/wait-for.ts';
import { stateAfterFailure } from './left-by-failure.ts';
import {
  citusPlace,
  citusUrl,
  killCommand,
  citusSkipReason,
  killSkipReason,
  plainPlace,
  takeTurn,
  type CitusPlace,
} from './places.ts';

takeTurn();

const history = randomHistory(21, 240);

describe('history on Citus workers', needs(citusSkipReason), () => {
  let localPlace: CitusPlace;
  let distributedPlace: CitusPlace;
  beforeAll(async () => {
    localPlace = await plainPlace('citus_history');
    await localPlace.write(history, 7);
    distributedPlace = await citusPlace(citusUrl ?? '', 'citus_history', 4);
  });
  afterAll(async () => {
    await distributedPlace[Symbol.asyncDispose]();
    await localPlace[Symbol.asyncDispose]();
  });

  it('equals the history on plain Postgres after six closed connections', async () => {
    const stop = new AbortController();
    const whenCut = cutConnections(distributedPlace, stop.signal);
    const lossesMet = await writeInSpiteOfLosses(distributedPlace, 60_000);
    stop.abort();
    await whenCut;
    expect(lossesMet.size).toBeGreaterThan(0);
    expect([...lossesMet].filter((code) => code !== 'STORE_WORKER_LOST' && code !== 'STORE_UNREACHABLE')).toEqual([]);
    expect(await digestOf(distributedPlace.url, distributedPlace.schema)).toBe(
      await digestOf(localPlace.url, localPlace.schema),
    );
  }, 90_000);

  it(
    'equals the history on plain Postgres after six worker kills',
    { timeout: 300_000, ...needs(killSkipReason) },
    async () => {
      await using killed = await citusPlace(citusUrl ?? '', 'citus_killed', 4);
      const met = new Set<string>();
      const kills = 6;
      for (let kill = 1; kill <= kills; kill += 1) {
        const part = history.slice(0, Math.ceil((history.length * kill) / kills));
        const writing = writeInSpiteOfLosses(killed, 60_000, part);
        await pause(100 * kill);
        await killWorker(kill % 2);
        for (const code of await writing) met.add(code);
      }
      console.log(`test/citus: workers killed ${String(kills)} times while it was written; met ${[...met].join(', ')}`);
      expect([...met].filter((code) => code !== 'STORE_WORKER_LOST' && code !== 'STORE_UNREACHABLE')).toEqual([]);
      expect(await digestOf(killed.url, killed.schema)).toBe(await digestOf(localPlace.url, localPlace.schema));
    },
  );

  it('contains no row of a batch if one of its statements fails', async () => {
    expect(await stateAfterFailure(distributedPlace)).toEqual([{ left: 0 }]);
  });

  it('is distributed over all workers in the requested number of shards', async () => {
    const placed = await distributedPlace.query(
      `select s.table_name::text, count(distinct s.shardid)::integer as shards, count(distinct s.nodeport)::integer as nodes
         from citus_shards s where s.table_name in ('contracts'::regclass, 'completions'::regclass) group by 1 order by 1`,
    );
    const nodes = Number(
      (await distributedPlace.query('select count(*) from pg_dist_node where shouldhaveshards'))[0]?.['count'],
    );
    const both = { shards: 4, nodes: Math.min(nodes, 4) };
    expect(placed).toEqual([
      { table_name: 'completions', ...both },
      { table_name: 'contracts', ...both },
    ]);
  });

  it('keeps its distributed tables after another migration, with or without --citus', async () => {
    expect(await migrate(distributedPlace.database)).toEqual([]);
    expect(await migrate(distributedPlace.database, { distribution: { shards: 4 } })).toEqual([]);
    expect(
      await distributedPlace.query(`select count(*)::integer as tables from pg_dist_partition p
      where p.logicalrelid::regclass::text !~ '\\.'`),
    ).toEqual([{ tables: 25 }]);
  });
});

/** Ends the sessions of the coordinator on all workers six times, each time when at least one session is active. */
async function cutConnections(place: CitusPlace, stop: AbortSignal): Promise<void> {
  const cut = `select count(pg_terminate_backend(pid)) from pg_stat_activity
                where application_name like 'citus_internal%' and state <> 'idle' and pid <> pg_backend_pid()`;
  for (let cuts = 0; cuts < 6 && !stop.aborted; await pause(100)) {
    const ended = await place.query('select result from run_command_on_workers($1)', [cut]).catch(() => []);
    if (ended.some(({ result }) => Number(result) > 0)) cuts += 1;
  }
}

/** Kills the worker with this number; the command also restarts it. */
async function killWorker(number: number): Promise<void> {
  await promisify(execFile)('sh', ['-c', `${killCommand ?? ''} ${String(number)}`]);
}

/** Writes until everything is stored, retrying after each failure. Returns the error codes of the failures. */
async function writeInSpiteOfLosses(
  place: CitusPlace,
  limitMs: number,
  frames = history,
): Promise<ReadonlySet<string>> {
  const met = new Set<string>();
  for (const end = performance.now() + limitMs; performance.now() < end;) {
    try {
      await place.write(frames, 3);
      return met;
    } catch (error) {
      if (!(error instanceof IndexerError)) throw error;
      met.add(error.code);
    }
  }
  throw new Error(`not written within ${limitMs} ms; met ${[...met].join(', ')}`);
}
