/**
 * Observers of a piece: the reference reads the ledger, clients and webhook receive changes, and a user queries the API.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type Child } from '../child.ts';
import { checkClients, checkCounts, checkWebhook, type CheckResult } from './checks.ts';
import type { ClientsReport } from './clients.ts';
import type { SoakState } from './folder.ts';
import { groupsOf, type ClientGroup } from './groups.ts';
import type { Processes } from './processes.ts';
import { ApiReader, type ReaderResult } from './reader.ts';
import { ledgerEndOf, readUpdates, Reference, type SavedReference } from './reference.ts';
import { subscribe, WebhookReceiver } from './webhook.ts';

/** Updates that are read to find the frequent templates. */
const surveyedUpdates = 1_000;
/** Rank of the webhook's template: frequent, but not the most frequent one. */
const webhookRank = 3;

/** Selections of the clients and the webhook, and the offset at which they begin. */
export interface Selection {
  readonly groups: readonly ClientGroup[];
  readonly after: number;
  readonly webhookTemplate: string;
  readonly reference: SavedReference;
}

export interface Observers {
  readonly clients: Child;
  /** Values for a sample. */
  values(): Promise<Record<string, number>>;
  /** Waits until everything up to `ledgerEnd` has arrived, compares it with the ledger, and stops. */
  finish(ledgerEnd: number): Promise<FinishedObservers>;
}

export interface FinishedObservers {
  readonly checks: readonly CheckResult[];
  readonly reader: ReaderResult;
  readonly selection: Selection;
}

export async function startObservers(
  folder: string,
  state: SoakState,
  clientCount: number,
  processes: Processes,
): Promise<Observers> {
  const { ledgerUrl, databaseUrl, indexerUrl } = processes;
  const selection = await selectionOf(state, clientCount, ledgerUrl);
  const { groups, after, webhookTemplate: template, reference: saved } = selection;
  const port = state.ports.webhook;
  const receiver = new WebhookReceiver(template, Math.max(saved.offset, after));
  const stopReceiver = await receiver.listen(port);
  const reference = new Reference({ groups, after, ledgerUrl, saved, onEvent: (event) => receiver.expect(event) });
  if (state.after === undefined) await subscribe({ databaseUrl, port, template, after });
  const positions = join(folder, 'clients.json');
  const plan = { url: indexerUrl, groups, after, ...(state.pieces === 0 ? {} : { positions }) };
  const clients = startChild({ file: 'soak/clients.js', args: [JSON.stringify(plan)] });
  const user = new ApiReader(indexerUrl);
  return {
    clients,
    values: async () => ({
      backlog: receiver.missing,
      delivered: receiver.delivered,
      client_lag: lagOf(await reportOf(clients), groups, reference.offset),
    }),
    finish: async (ledgerEnd) => {
      const read = await reference.finish(ledgerEnd);
      const checks = [
        await checkWebhook(receiver),
        await checkClients(() => reportOf(clients), read),
        await checkCounts(databaseUrl, read),
      ];
      writeFileSync(positions, JSON.stringify((await reportOf(clients)).clients));
      const reader = await user.stop();
      await clients.stop();
      await stopReceiver();
      return { checks, reader, selection: { ...selection, reference: read } };
    },
  };
}

/** That of the previous piece, or a new one that begins at the ledger end. */
async function selectionOf(state: SoakState, clientCount: number, ledgerUrl: string): Promise<Selection> {
  const { groups, after, webhookTemplate, reference } = state;
  if (groups !== undefined && after !== undefined && webhookTemplate !== undefined && reference !== undefined)
    return { groups, after, webhookTemplate, reference };
  const begin = await ledgerEndOf(ledgerUrl);
  const counts = new Map<string, number>();
  for (let from = Math.max(0, begin - surveyedUpdates); from < begin;) {
    const updates = await readUpdates(ledgerUrl, from, begin);
    for (const { template } of updates.flatMap(({ events }) => events))
      if (template !== '') counts.set(template, (counts.get(template) ?? 0) + 1);
    from = updates.at(-1)?.offset ?? begin;
  }
  const templates = [...counts].sort(([, one], [, other]) => other - one).map(([template]) => template);
  return {
    groups: groupsOf(clientCount, templates),
    after: begin,
    webhookTemplate: templates[webhookRank] ?? templates[0] ?? '',
    reference: { offset: 0, updates: 0, types: {}, digests: {} },
  };
}

/** Reports are sent in the order of requests, of which one is open at a time. */
async function reportOf(clients: Child): Promise<ClientsReport> {
  const whenAnswered = new Promise<ClientsReport>((resolve) => {
    clients.process.once('message', (message) => resolve(message as ClientsReport));
  });
  clients.process.send('report');
  return Promise.race([whenAnswered, clients.died]);
}

/** Offsets by which the slowest client of a frequent selection is behind the ledger. */
function lagOf({ clients }: ClientsReport, groups: readonly ClientGroup[], ledgerOffset: number): number {
  const frequent = new Set(groups.filter(({ template }) => template === undefined).map(({ name }) => name));
  const offsets = clients.filter(({ group }) => frequent.has(group)).map(({ lastOffset }) => lastOffset);
  return Math.max(0, ledgerOffset - Math.min(...offsets.filter((offset) => offset > 0)));
}
