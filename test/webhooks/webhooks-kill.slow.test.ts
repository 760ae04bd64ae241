/**
 * The indexer and the receiver of a webhook are killed repeatedly. No event is lost, events arrive in order, and
 * duplicates have the same id.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { groupByContract, sortPlaces, type Received } from './receiver.ts';

/**
 * Total number of kills of the indexer and the receiver (200 in a chaos run). A standby is running during some of the
 * kills of the indexer.
 */
const killTotal = Number(process.env['WEBHOOKS_KILLS'] ?? 5);
const role = `killed_${String(process.pid)}`;
const program = join(import.meta.dirname, 'receiver-process.mjs');

async function startReceiver(port: number, file: string, secret: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, String(port), file, secret], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

async function killReceiver(child: ChildProcess): Promise<void> {
  const whenExited = once(child, 'exit');
  child.kill('SIGKILL');
  await whenExited;
}

async function readReceived(file: string): Promise<readonly Pick<Received, 'id' | 'place' | 'contract'>[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Received);
}

async function storedDeliveries(url: string): Promise<readonly string[]> {
  const text = `select "offset" || '-' || node_id as place from explore.events order by "offset", node_id`;
  return (await query(url, text)).map(({ place: position }) => String(position));
}

async function addWebhook(world: HistoryWorld, url: string): Promise<string> {
  await runCommand(grantReaderCommand, [role], world.env());
  const lines: string[] = [];
  const args = ['add', 'killed', '--url', url, '--role', role, '--after', '0'];
  await runCommand(webhookCommand, args, world.env(), { print: (line) => lines.push(line) });
  return /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';
}

it(
  `webhooks lose no event over ${String(killTotal)} SIGKILLs of indexer and receiver`,
  { timeout: 60_000 + killTotal * 5_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-'));
    const file = join(folder, 'received');
    const world = await HistoryWorld.open(60);
    const { LEDGER_URL: ledgerUrl = '', DATABASE_URL: databaseUrl = '' } = world.env();
    const env = { INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '10', INDEXER_WEBHOOK_NETWORKS: 'loopback' };
    const start = (): Daemon => startDaemon({ ledgerUrl, databaseUrl, schema: 'ledger', env });
    const port = await freePort();
    await world.index('ledger', env);
    const secret = await addWebhook(world, `http://127.0.0.1:${String(port)}/hooks`);
    let receiver = await startReceiver(port, file, secret);
    let daemon = start();
    try {
      const killIndexer = async (): Promise<void> => {
        await daemon.kill();
        daemon = start();
      };
      const killWithStandby = async (): Promise<void> => {
        // Without this, the new process could get the writer lock first.
        await daemon.logged('live');
        const standby = start();
        await standby.logged('standby');
        await daemon.kill();
        daemon = standby;
      };
      const replaceReceiver = async (awayMs: number): Promise<void> => {
        await killReceiver(receiver);
        await pause(awayMs);
        receiver = await startReceiver(port, file, secret);
      };
      for (let killed = 0; killed < killTotal; killed += 1) {
        world.grow(15);
        // The kill can happen at any time, for example during a start, a write or a response.
        await pause(100 + ((killed * 397) % 900));
        const awayMs = (killed * 131) % 300;
        if (killed % 5 === 4) {
          // Both sides are killed at once, which counts as two kills.
          killed += 1;
          await Promise.all([killIndexer(), replaceReceiver(awayMs)]);
        } else if (killed % 2 === 0) await replaceReceiver(awayMs);
        else if (killed % 4 === 1) await killWithStandby();
        else await killIndexer();
      }
      world.grow(15);
      const end = world.sandbox.ledger.ledgerEnd();
      await waitFor('everything is stored', async () => ((await world.checkpoint()) >= end ? true : undefined));
      const all = await storedDeliveries(databaseUrl);
      const places = async (): Promise<ReadonlySet<string>> =>
        new Set((await readReceived(file)).map(({ place }) => place));
      await waitFor('everything is accepted', async () => ((await places()).size >= all.length ? true : undefined));
      const deliveries = await readReceived(file);
      expect(sortPlaces([...(await places())])).toEqual(all);
      for (const found of groupByContract(deliveries).values()) expect(found).toEqual(sortPlaces(found));
      const pairs = new Set(deliveries.map(({ id, place }) => `${id} ${place}`));
      expect(pairs.size).toBe(all.length);
      expect(new Set(deliveries.map(({ id }) => id)).size).toBe(all.length);
      expect(await query(databaseUrl, 'select from ledger.webhook_dead_letters')).toEqual([]);
      process.stdout.write(
        `${String(killTotal)} kills: ${String(all.length)} events, ${String(deliveries.length - all.length)} twice\n`,
      );
    } finally {
      await daemon.kill();
      await killReceiver(receiver);
      await world.close();
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
      await rm(folder, { recursive: true });
    }
  },
);
