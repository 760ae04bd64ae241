/** Reads and replaces signing secrets of webhooks. Only owners of the tables may do this. */
import type { Webhook } from '../../model/push/webhook.ts';
import type { Database } from '../connection/database.ts';
import { assertWebhookExists, refusalError } from './hooks.ts';

/** Address and secrets for a delivery outside of the stream. @throws IndexerError WEBHOOK_NOT_FOUND */
export function readReceiver(database: Database, name: string): Promise<Pick<Webhook, 'url' | 'secrets'>> {
  return database.withClient(async (client) => {
    await assertWebhookExists(client, name);
    const { rows } = await client.query<Pick<Webhook, 'url' | 'secrets'>>(
      'select url, array_remove(array[secret, previous_secret], null) as secrets from webhook_secrets where name = $1',
      [name],
    );
    const [receiver] = rows;
    if (receiver !== undefined) return receiver;
    throw refusalError(
      'its address is not visible to this role',
      'connect as the writer of `ledger-indexer grant-roles`, or as the owner of the tables',
    );
  });
}

/**
 * Replaces the secret, and keeps the previous one until finishRotation().
 * @throws IndexerError WEBHOOK_NOT_FOUND; WEBHOOK_REFUSED if a previous secret is still in use
 */
export function startRotation(database: Database, name: string, secret: string): Promise<void> {
  return changeSecrets(
    database,
    'update webhook_secrets set previous_secret = secret, secret = $2 where name = $1 and previous_secret is null',
    { name, values: [secret] },
    [
      `the last rotation of ${name} is not finished, and events are signed with its two secrets`,
      `give the new secret to the receiver, and run \`ledger-indexer webhook rotate ${name} --finish\` first`,
    ],
  );
}

/**
 * Removes the previous secret.
 * @throws IndexerError WEBHOOK_NOT_FOUND; WEBHOOK_REFUSED if there is none
 */
export function finishRotation(database: Database, name: string): Promise<void> {
  return changeSecrets(
    database,
    'update webhook_secrets set previous_secret = null where name = $1 and previous_secret is not null',
    { name, values: [] },
    [`${name} has no previous secret`, `run \`ledger-indexer webhook rotate ${name}\` to replace its secret`],
  );
}

function changeSecrets(
  database: Database,
  statement: string,
  { name, values }: { readonly name: string; readonly values: readonly string[] },
  [refusal, remedy]: readonly [string, string],
): Promise<void> {
  return database.transaction(async (client) => {
    await assertWebhookExists(client, name);
    const { rowCount } = await client.query(statement, [name, ...values]);
    if (rowCount === 0) throw refusalError(refusal, remedy);
  });
}
