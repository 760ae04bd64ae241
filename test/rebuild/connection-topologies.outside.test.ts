/**
 * Clients read during a swap through a pooler in transaction mode, on a streaming standby, and over several hosts of
 * which one accepts writes. No client may get an error or an older checkpoint.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { rebuildCommand } from '../../src/cli/rebuild/rebuild.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { startServers, type Servers } from '../ha/servers.ts';
import { noBouncer, startBouncer } from '../support/bouncer.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { fromGenesis } from './world.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

let servers: Servers;
let sandbox: Sandbox;
let grow: (updates: number) => void;
/** Database URL with both hosts, the standby first. */
let hosts: string;
const found: string[] = [];
const reads = new Map<string, number>();
type Ask = (text: string) => Promise<Record<string, unknown>>;

const once = async (ask: Ask): Promise<number> =>
  Number((await ask('select explore.latest_offset() as at, count(*) from explore.contracts'))['at']);

async function twice(ask: Ask): Promise<number> {
  await ask('begin');
  const first = Number((await ask('select max("offset") as at from explore.updates'))['at']);
  const second = Number((await ask('select explore.latest_offset() as at'))['at']);
  await ask('commit');
  if (second < first) found.push(`in one transaction ${String(second)} after ${String(first)}`);
  return second;
}

/** Reads repeatedly over one connection, where the checkpoint must never decrease. */
async function readOn(name: string, ask: Ask, read: (ask: Ask) => Promise<number>, stop: AbortSignal): Promise<void> {
  let seen = 0;
  while (!stop.aborted) {
    try {
      const at = await read(ask);
      if (at < seen) found.push(`${name}: ${String(at)} after ${String(seen)}`);
      seen = at;
      reads.set(name, (reads.get(name) ?? 0) + 1);
    } catch (thrown) {
      found.push(`${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      return;
    }
    await pause(3);
  }
}

async function openClient(url: string): Promise<{ readonly ask: Ask; readonly end: () => Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const ask: Ask = async (text) => (await client.query<Record<string, unknown>>(text)).rows[0] ?? {};
  return { ask, end: () => client.end() };
}

const rebuild = async (...words: string[]): Promise<string> => {
  const printed: string[] = [];
  const env = { LEDGER_URL: sandbox.url, DATABASE_URL: hosts, INDEXER_LOG_LEVEL: 'error' };
  await runCommand(rebuildCommand, words, env, { print: (line: string): void => void printed.push(line) });
  return printed.join('\n');
};

describe('queries during schema swaps', needs(noBouncer), () => {
  beforeAll(async () => {
    servers = await startServers();
    sandbox = await startSandbox({ seed: 8, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
    const steps = new Steps(sandbox.ledger, 8);
    let made = 0;
    grow = (updates) => {
      for (const end = made + updates; made < end; made += 1) steps.step(startAt + made * 1_000_000);
    };
    const both = new URL(servers.standby);
    hosts = both.href.replace(both.host, `${both.host},${new URL(servers.primary).host}`);
  });
  afterAll(async () => {
    await sandbox.close();
    await servers[Symbol.asyncDispose]();
  });

  it('return no errors or earlier checkpoints via pooler, standby and host list', async () => {
    grow(150);
    await using indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: hosts, ...fromGenesis });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await waitFor('the standby has it', async () => {
      const [row] = await query(servers.standby, 'select checkpoint from ledger.stream').catch(() => []);
      return Number(row?.['checkpoint']) >= sandbox.ledger.ledgerEnd() ? true : undefined;
    });
    await using bouncer = await startBouncer(servers.primary, 'transaction');
    const roads = await Promise.all(
      [bouncer.url, bouncer.url, servers.standby, servers.standby].map((url) => openClient(url)),
    );
    const several = openDatabase({
      url: hosts,
      schema: 'ledger',
      statementTimeoutMs: 10_000,
      applicationName: 'reader',
    });
    const askSeveral: Ask = (text) =>
      several.withClient(async (client) => (await client.query<Record<string, unknown>>(text)).rows[0] ?? {});
    const stop = new AbortController();
    const names = ['pooler', 'pooler, in transactions', 'standby', 'standby, in transactions', 'several hosts'];
    const askFunctions = [...roads.map(({ ask }) => ask), askSeveral];
    const loops = askFunctions.map((ask, at) => readOn(names[at] ?? '', ask, at % 2 === 1 ? twice : once, stop.signal));
    const growing = (async () => {
      while (!stop.signal.aborted) {
        grow(2);
        await pause(40);
      }
    })();
    for (const words of [['--yes'], ['--rollback', '--yes']]) {
      const counts = new Map(reads);
      expect(await rebuild(...words)).toContain('done: swapped');
      const swapped = `select 'ledger.updates'::regclass::oid::text as oid`;
      const [here] = await query(servers.primary, swapped);
      await waitFor('the standby has swapped', async () =>
        (await query(servers.standby, swapped))[0]?.['oid'] === here?.['oid'] ? true : undefined,
      );
      for (const name of names) {
        await waitFor(`${name} goes on`, () =>
          (reads.get(name) ?? 0) > (counts.get(name) ?? 0) + 3 || found.length > 0 ? true : undefined,
        );
      }
    }
    stop.abort();
    await Promise.all([...loops, growing]);
    await Promise.all([...roads.map(({ end }) => end()), several.close()]);
    expect(found).toEqual([]);
  });
});
