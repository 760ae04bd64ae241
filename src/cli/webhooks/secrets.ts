/** `webhook rotate` and `webhook test`: replaces the signing secret of a webhook, and sends one signed test event. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import type { PrintLine } from '../command-line/command.ts';
import { selectionTexts } from './selection.ts';

/**
 * Replaces the secret, or ends the use of the previous one.
 * @throws IndexerError WEBHOOK_NOT_FOUND; WEBHOOK_REFUSED if a rotation is open already, or none is open to be finished
 */
export async function rotateSecret(
  database: Database,
  name: string,
  isFinished: boolean,
  print: PrintLine,
): Promise<void> {
  const { finishRotation, startRotation } = await import('../../store/webhooks/hook-secrets.ts');
  if (isFinished) {
    await finishRotation(database, name);
    return print(`events of ${name} are signed with the new secret only`);
  }
  const { newSecret } = await import('../../webhooks/signature.ts');
  const secret = newSecret();
  await startRotation(database, name, secret);
  print(`new signing secret, printed only once: ${secret}`);
  print(
    `events are signed with both secrets until \`ledger-indexer webhook rotate ${name} --finish\`; first give the new one to the receiver`,
  );
}

/**
 * Sends an event of type `test`, which is in no history, from this process.
 * @throws IndexerError WEBHOOK_NOT_FOUND; WEBHOOK_TEST_FAILED if the receiver did not accept it
 */
export async function sendTest(database: Database, name: string, { indexer }: Config, print: PrintLine): Promise<void> {
  const { webhookNetworks: reach } = indexer;
  if (reach === 'none') throw failedError('INDEXER_WEBHOOK_NETWORKS is none, so nothing is delivered');
  const { readReceiver } = await import('../../store/webhooks/hook-secrets.ts');
  const { url, secrets } = await readReceiver(database, name);
  const { listWebhooks } = await import('../../store/webhooks/hooks.ts');
  const selected = (await listWebhooks(database)).filter((webhook) => webhook.name === name).flatMap(selectionTexts);
  const { signedHeaders } = await import('../../webhooks/signature.ts');
  const { WebhookSender } = await import('../../webhooks/post.ts');
  const { timeoutMs } = await import('../../webhooks/hook-run.ts');
  const now = Date.now();
  const body = JSON.stringify({ type: 'test', timestamp: new Date(now).toISOString(), data: { webhook: name } });
  const headers = {
    'content-type': 'application/json',
    ...signedHeaders(secrets, `msg_test_${randomUUID()}`, body, now),
  };
  const sender = new WebhookSender({ reach, connections: 1, timeoutMs });
  try {
    const delivery = await sender.post({ url, headers, body });
    if (delivery.kind === 'gone') throw failedError('status 410: the receiver wants no more events');
    if (delivery.kind !== 'delivered') throw failedError(delivery.problem);
    print(`the receiver of ${name} accepted the test event after ${String(Date.now() - now)} ms`);
    print(`${name} receives ${selected.length === 0 ? 'all events' : `events with ${selected.join('  ')}`}`);
  } finally {
    sender.close();
  }
}

function failedError(problem: string): IndexerError {
  return new IndexerError(`the receiver did not accept the test event: ${problem}`, {
    code: 'WEBHOOK_TEST_FAILED',
    remedy:
      'check the address, the secret and the log of the receiver, and INDEXER_WEBHOOK_NETWORKS; then run it again',
  });
}
