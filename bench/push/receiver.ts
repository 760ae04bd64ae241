/**
 * A counting receiver of webhooks: `receiver.js`. It responds with 204 at once, and reports the received events on
 * request.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Report to the measuring process. Times are nanoseconds of `process.hrtime`. */
export interface ReceiverSeen {
  readonly received: number;
  /** Number of distinct webhook-ids. */
  readonly different: number;
  /** Number of events that arrived before an earlier one of the same contract. */
  readonly reordered: number;
  readonly firstAt: bigint;
  readonly lastAt: bigint;
}

const ids = new Set<string>();
const newest = new Map<string, number>();
let [received, reordered] = [0, 0];
let [firstAt, lastAt] = [0n, 0n];

function note(id: string, body: string): void {
  lastAt = process.hrtime.bigint();
  if (received === 0) firstAt = lastAt;
  received += 1;
  if (ids.has(id)) return;
  ids.add(id);
  const { data } = JSON.parse(body) as { data: { offset: number; node_id: number; contract_id: string | null } };
  const position = data.offset * 1_000 + data.node_id;
  const contract = data.contract_id ?? '';
  if (position < (newest.get(contract) ?? -1)) reordered += 1;
  newest.set(contract, position);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    note(String(request.headers['webhook-id']), Buffer.concat(chunks).toString());
  });
});
process.on('message', () => {
  process.send?.({ received, different: ids.size, reordered, firstAt, lastAt } satisfies ReceiverSeen);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
