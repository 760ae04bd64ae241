/** `webhook rotate` and `webhook test`. A third-party verifier checks the signatures. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver, type Receiver } from './receiver.ts';

const env = { INDEXER_START: 'genesis', INDEXER_WEBHOOK_NETWORKS: 'loopback' };
const role = `signed_${randomBytes(4).toString('hex')}`;
let world: HistoryWorld;
let indexer: IndexerRun;
let receiver: Receiver;
beforeAll(async () => {
  world = await HistoryWorld.open(71);
  receiver = await startReceiver();
  receiver.name = 'signed';
  indexer = await world.run('ledger', env);
  await catchUp();
  await runCommand(grantReaderCommand, [role], world.env());
  const lines = await webhook('add', 'signed', '--url', `${receiver.url}/signed`, '--role', role);
  receiver.secret = secretIn(lines);
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await world.close();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

const catchUp = (): Promise<void> => indexer.reaches(world.sandbox.ledger.ledgerEnd());

const secretIn = (lines: readonly string[]): string => /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';

async function webhook(...args: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  await runCommand(webhookCommand, args, { ...world.env(), ...env }, { print });
  return lines;
}

/** Resolves when the receiver has accepted the events of new updates. */
async function grow(): Promise<void> {
  receiver.taken.length = 0;
  const before = await world.checkpoint();
  world.grow(10);
  await catchUp();
  const [row] = await query(
    world.database.url,
    `select count(*) from explore.events where "offset" > ${String(before)}`,
  );
  await waitFor('the events are accepted', () => receiver.taken.length >= Number(row?.['count']) || undefined);
}

/** Resolves when new events have this number of signatures. */
function growUntilSigned(signatures: number): Promise<true> {
  return waitFor(`${String(signatures)} signatures`, async () => {
    await grow();
    const counts = receiver.taken.map(({ headers }) => headers['webhook-signature']?.split(' ').length);
    return counts.every((count) => count === signatures) || undefined;
  });
}

describe('signing secret of a webhook', () => {
  it('is replaced without a rejected event', async () => {
    const previousSecret = receiver.secret;
    await growUntilSigned(1);
    const secret = secretIn(await webhook('rotate', 'signed'));
    expect(secret).not.toBe(previousSecret);
    await expect(webhook('rotate', 'signed')).rejects.toMatchObject({ code: 'WEBHOOK_REFUSED' });
    await growUntilSigned(2);
    receiver.secret = secret;
    await grow();
    await webhook('rotate', 'signed', '--finish');
    await expect(webhook('rotate', 'signed', '--finish')).rejects.toMatchObject({ code: 'WEBHOOK_REFUSED' });
    await growUntilSigned(1);
    expect(receiver.forged).toEqual([]);
    expect(indexer.log.join('')).not.toContain('whsec_');
  });

  it('signs a test event, and a failed test names the problem', async () => {
    receiver.taken.length = 0;
    expect(await webhook('test', 'signed')).toEqual([
      expect.stringMatching(/^the receiver of signed accepted the test event after \d+ ms$/),
      'signed receives all events',
    ]);
    expect(receiver.taken).toMatchObject([{ type: 'test', data: { webhook: 'signed' } }]);
    for (const [status, problem] of [
      [500, 'status 500'],
      [410, 'status 410: the receiver wants no more events'],
    ] as const) {
      receiver.reply = () => ({ status });
      await expect(webhook('test', 'signed')).rejects.toMatchObject({
        code: 'WEBHOOK_TEST_FAILED',
        message: `the receiver did not accept the test event: ${problem}`,
      });
    }
  });

  it.each(['rotate', 'rotate --finish', 'test'])('%s refuses an unknown webhook', async (text) => {
    const [action = '', ...flags] = text.split(' ');
    await expect(webhook(action, 'unknown', ...flags)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
  });
});
