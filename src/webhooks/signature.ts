/**
 * Signatures and ids of deliveries. Source: Standard Webhooks 1.0.0 (symmetric, version v1). A signature is the base64
 * of an HMAC-SHA256 over `id.timestamp.body`, with the key that follows `whsec_` in the secret.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
/** 24 to 64 according to the specification. */
const keyBytes = 32;

/** A secret to be printed once to the user who adds the webhook or replaces its secret. */
export function newSecret(): string {
  return `${prefix}${randomBytes(keyBytes).toString('base64')}`;
}

export interface SignedHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Several secrets give several signatures, separated by spaces. A receiver accepts the event if it knows one of them.
 *
 * @param nowMs time of this attempt, because receivers refuse requests that are minutes old
 */
export function signedHeaders(secrets: readonly string[], id: string, body: string, nowMs: number): SignedHeaders {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => `v1,${signature(secret, `${id}.${timestamp}.${body}`)}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

function signature(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  return createHmac('sha256', key).update(text).digest('base64');
}

/**
 * The id of an event, the same for every attempt by any process. It includes the update id, because at the same
 * position a restored history, or another ledger, has another event.
 */
export function messageId(hookId: string, offset: number, node: number, updateId: string): string {
  const text = JSON.stringify([hookId, offset, node, updateId]);
  return `msg_${createHash('sha256').update(text).digest('base64url').slice(0, 32)}`;
}
