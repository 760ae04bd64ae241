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
import { bouncerSkipReason, startBouncer } from '../support/bouncer.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { fromGenesis } from './world.ts';

const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

let servers: Servers;
let sandbox: Sandbox;
let growLedger: (updates: number) => void;
/** Database URL with both hosts, the standby first. */
let hosts: string;
const problems: string[] = [];
const readsByName = new Map<string, number>();
type Query = (text: string) => Promise<Record<string, unknown>>;

const readOnce = async (sendQuery: Query): Promise<number> =>
  Number((await sendQuery('select explore.latest_offset() as at, count(*) from explore.contracts'))['at']);

async function readTwice(sendQuery: Query): Promise<number> {
  await sendQuery('begin');
  const first = Number((await sendQuery('select max("offset") as at from explore.updates'))['at']);
  const second = Number((await sendQuery('select explore.latest_offset() as at'))['at']);
  await sendQuery('commit');
  if (second < first) problems.push(`in one transaction ${String(second)} after ${String(first)}`);
  return second;
}

/** Reads repeatedly over one connection, where the checkpoint must never decrease. */
async function repeatRead(
  name: string,
  sendQuery: Query,
  runRead: (sendQuery: Query) => Promise<number>,
  stop: AbortSignal,
): Promise<void> {
  let highestOffset = 0;
  while (!stop.aborted) {
    try {
      const offset = await runRead(sendQuery);
      if (offset < highestOffset) problems.push(`${name}: ${String(offset)} after ${String(highestOffset)}`);
      highestOffset = offset;
      readsByName.set(name, (readsByName.get(name) ?? 0) + 1);
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    await pause(3);
  }
}

async function openClient(url: string): Promise<{ readonly ask: Query; readonly end: () => Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const sendQuery: Query = async (text) => (await client.query<Record<string, unknown>>(text)).rows[0] ?? {};
  return { ask: sendQuery, end: () => client.end() };
}

const rebuild = async (...args: string[]): Promise<string> => {
  const outputLines: string[] = [];
  const env = { LEDGER_URL: sandbox.url, DATABASE_URL: hosts, INDEXER_LOG_LEVEL: 'error' };
  await runCommand(rebuildCommand, args, env, { print: (line: string): void => void outputLines.push(line) });
  return outputLines.join('\n');
};

describe('queries during schema swaps', needs(bouncerSkipReason), () => {
  beforeAll(async () => {
    servers = await startServers();
    sandbox = await startSandbox({ seed: 8, now: () => startAt / 1000, limits: { checkpointIntervalMs: 50 } });
    const steps = new Steps(sandbox.ledger, 8);
    let updateCount = 0;
    growLedger = (updates) => {
      for (const end = updateCount + updates; updateCount < end; updateCount += 1)
        steps.step(startAt + updateCount * 1_000_000);
    };
    const bothServersUrl = new URL(servers.standby);
    hosts = bothServersUrl.href.replace(bothServersUrl.host, `${bothServersUrl.host},${new URL(servers.primary).host}`);
  });
  afterAll(async () => {
    await sandbox.close();
    await servers[Symbol.asyncDispose]();
  });

  it('return no errors or earlier checkpoints via pooler, standby and host list', async () => {
    growLedger(150);
    await using indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: hosts, ...fromGenesis });
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await waitFor('the standby has it', async () => {
      const [row] = await query(servers.standby, 'select checkpoint from ledger.stream').catch(() => []);
      return Number(row?.['checkpoint']) >= sandbox.ledger.ledgerEnd() ? true : undefined;
    });
    await using pgBouncer = await startBouncer(servers.primary, 'transaction');
    const connectionRoutes = await Promise.all(
      [pgBouncer.url, pgBouncer.url, servers.standby, servers.standby].map((url) => openClient(url)),
    );
    const multiHostDatabase = openDatabase({
      url: hosts,
      schema: 'ledger',
      statementTimeoutMs: 10_000,
      applicationName: 'reader',
    });
    const queryThroughPool: Query = (text) =>
      multiHostDatabase.withClient(async (client) => (await client.query<Record<string, unknown>>(text)).rows[0] ?? {});
    const stop = new AbortController();
    const names = ['pooler', 'pooler, in transactions', 'standby', 'standby, in transactions', 'several hosts'];
    const queries = [...connectionRoutes.map(({ ask: sendQuery }) => sendQuery), queryThroughPool];
    const loops = queries.map((sendQuery, index) =>
      repeatRead(names[index] ?? '', sendQuery, index % 2 === 1 ? readTwice : readOnce, stop.signal),
    );
    const whenGrown = (async () => {
      while (!stop.signal.aborted) {
        growLedger(2);
        await pause(40);
      }
    })();
    for (const args of [['--yes'], ['--rollback', '--yes']]) {
      const counts = new Map(readsByName);
      expect(await rebuild(...args)).toContain('done: swapped');
      const swappedSql = `select 'ledger.updates'::regclass::oid::text as oid`;
      const [primaryRow] = await query(servers.primary, swappedSql);
      await waitFor('the standby has swapped', async () =>
        (await query(servers.standby, swappedSql))[0]?.['oid'] === primaryRow?.['oid'] ? true : undefined,
      );
      for (const name of names) {
        await waitFor(`${name} goes on`, () =>
          (readsByName.get(name) ?? 0) > (counts.get(name) ?? 0) + 3 || problems.length > 0 ? true : undefined,
        );
      }
    }
    stop.abort();
    await Promise.all([...loops, whenGrown]);
    await Promise.all([...connectionRoutes.map(({ end }) => end()), multiHostDatabase.close()]);
    expect(problems).toEqual([]);
  });
});
