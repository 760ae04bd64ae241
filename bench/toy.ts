/**
 * The toy, a simple implementation for comparison. It uses JSON.parse for each frame, one transaction per update, one
 * awaited INSERT per event, and one UPDATE of the checkpoint. Arguments: URL of the ledger, URL of the database, and
 * seconds to run.
 */
import { Client } from 'pg';
import { WebSocket } from 'ws';

const [ledgerUrl = '', databaseUrl = '', seconds = '5'] = process.argv.slice(2);
const maxQueued = 200;

interface ToyEvent {
  readonly nodeId: number;
  readonly contractId: string;
  readonly templateId: string;
  readonly choice?: string;
  readonly createArgument?: unknown;
  readonly choiceArgument?: unknown;
  readonly exerciseResult?: unknown;
  readonly witnessParties: readonly string[];
}

interface ToyTransaction {
  readonly offset: number;
  readonly updateId: string;
  readonly recordTime: string;
  readonly events: readonly Readonly<Record<string, ToyEvent>>[];
}

const tables = `
  create table toy_events (
    "offset" bigint, node_id integer, kind text, contract_id text, template_id text, choice text, payload jsonb,
    result jsonb, witnesses text[], update_id text, record_time timestamptz, primary key ("offset", node_id));
  create index on toy_events (contract_id);
  create index on toy_events (template_id, "offset");
  create table toy_checkpoint (checkpoint bigint);
  insert into toy_checkpoint values (0)`;

const client = new Client({ connectionString: databaseUrl });
await client.connect();
await client.query(tables);
const queue: string[] = [];
let wake: (() => void) | undefined;
const socket = new WebSocket(`${ledgerUrl.replace('http', 'ws')}/v2/updates`, ['daml.ws.auth'], {
  perMessageDeflate: false,
});
socket.on('open', () => socket.send('{"beginExclusive":0}'));
socket.on('message', (data) => {
  queue.push((data as Buffer).toString());
  if (queue.length > maxQueued) socket.pause();
  wake?.();
});

async function next(): Promise<string> {
  while (queue.length === 0) {
    socket.resume();
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  return queue.shift() ?? '';
}

async function write({ offset, updateId, recordTime, events }: ToyTransaction): Promise<void> {
  await client.query('begin');
  for (const event of events) {
    const [kind = '', fields] = Object.entries(event)[0] ?? [];
    if (fields === undefined) continue;
    await client.query(`insert into toy_events values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, [
      offset,
      fields.nodeId,
      kind,
      fields.contractId,
      fields.templateId,
      fields.choice ?? null,
      JSON.stringify(fields.createArgument ?? fields.choiceArgument),
      JSON.stringify(fields.exerciseResult ?? null),
      fields.witnessParties,
      updateId,
      recordTime,
    ]);
  }
  await client.query('update toy_checkpoint set checkpoint = $1', [offset]);
  await client.query('commit');
}

let events = 0;
let first = await next();
const startMs = performance.now();
for (; performance.now() - startMs < Number(seconds) * 1_000; first = await next()) {
  const frame = JSON.parse(first) as { update: { Transaction: { value: ToyTransaction } } };
  const transaction = frame.update.Transaction.value;
  await write(transaction);
  events += transaction.events.length;
}
process.send?.({ events, seconds: (performance.now() - startMs) / 1_000 });
socket.terminate();
await client.end();
process.disconnect();
