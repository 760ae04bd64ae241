/**
 * The webhook of the soak: its subscription, and a local receiver that rejects some deliveries. Deliveries are compared
 * with the events of the ledger, each as soon as both are known, so that memory does not grow.
 */
import { createServer } from 'node:http';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { addWebhook } from '../../src/store/webhooks/hooks.ts';
import { newSecret } from '../../src/webhooks/signature.ts';
import { onExit, type CleanupStep } from '../cleanup.ts';
import { schema } from '../postgres.ts';
import type { LedgerEvent } from './groups.ts';

const role = 'soak_webhook';
/** Share of the deliveries that are rejected with status 500, and so repeated later. */
const rejected = 0.02;
/** Number of delivered events that are kept to recognize repeated deliveries. */
const keptKeys = 20_000;

export interface AddedSubscription {
  readonly databaseUrl: string;
  readonly port: number;
  readonly template: string;
  readonly after: number;
}

export async function subscribe({ databaseUrl, port, template, after }: AddedSubscription): Promise<void> {
  const database = openDatabase({ url: databaseUrl, schema, statementTimeoutMs: 60_000, applicationName: 'soak' });
  try {
    await grantReader(database, { role, parties: [], password: undefined });
    const url = `http://127.0.0.1:${String(port)}/`;
    const selected = { template, party: null, eventTypes: [], after };
    await addWebhook(database, { name: 'soak', url, secret: newSecret(), role, ...selected });
  } finally {
    await database.close();
  }
}

export class WebhookReceiver {
  readonly #random = new Random(7);
  /** Events of the ledger that were not delivered yet, and deliveries of events that were not read yet. */
  readonly #expected = new Set<string>();
  readonly #early = new Set<string>();
  readonly #delivered = new Set<string>();
  readonly #template: string;
  readonly #after: number;
  delivered = 0;
  repeated = 0;
  rejected = 0;

  /** @param after offset at which the piece begins: events up to it were delivered in an earlier piece */
  constructor(template: string, after: number) {
    this.#template = template;
    this.#after = after;
  }

  async listen(port: number): Promise<CleanupStep> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => response.writeHead(this.#receive(Buffer.concat(chunks).toString())).end());
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return onExit(() => {
      server.close();
      server.closeAllConnections();
    });
  }

  /** An event of the ledger. */
  expect({ offset, node, template }: LedgerEvent): void {
    if (template !== this.#template) return;
    const key = `${String(offset)}-${String(node)}`;
    if (!this.#early.delete(key)) this.#expected.add(key);
  }

  /** Number of events that were not delivered yet. */
  get missing(): number {
    return this.#expected.size;
  }

  /** Number of delivered events that the ledger did not have until now. */
  get unexpected(): number {
    return this.#early.size;
  }

  /** @returns the status */
  #receive(body: string): number {
    if (this.#random.chance(rejected)) {
      this.rejected += 1;
      return 500;
    }
    const { data } = JSON.parse(body) as { data: { offset: number; node_id: number } };
    const key = `${String(data.offset)}-${String(data.node_id)}`;
    if (data.offset <= this.#after || this.#delivered.has(key)) {
      this.repeated += 1;
      return 204;
    }
    this.#delivered.add(key);
    if (this.#delivered.size > keptKeys) this.#forgetOldest();
    this.delivered += 1;
    if (!this.#expected.delete(key)) this.#early.add(key);
    return 204;
  }

  #forgetOldest(): void {
    for (const key of this.#delivered) {
      this.#delivered.delete(key);
      return;
    }
  }
}
