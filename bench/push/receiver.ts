/**
 * A counting receiver of webhooks: `receiver.js`. It responds with 204 at once, and reports the received events on
 * request.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Report to the measuring process. Times are nanoseconds of `process.hrtime`. */
export interface ReceiverResult {
  readonly received: number;
  /** Number of distinct webhook-ids. */
  readonly different: number;
  /** Number of events that arrived before an earlier one of the same contract. */
  readonly reordered: number;
  readonly firstAt: bigint;
  readonly lastAt: bigint;
}

const ids = new Set<string>();
const newestById = new Map<string, number>();
let [receivedCount, reorderedCount] = [0, 0];
let [firstAt, lastAt] = [0n, 0n];

function recordDelivery(id: string, body: string): void {
  lastAt = process.hrtime.bigint();
  if (receivedCount === 0) firstAt = lastAt;
  receivedCount += 1;
  if (ids.has(id)) return;
  ids.add(id);
  const { data } = JSON.parse(body) as { data: { offset: number; node_id: number; contract_id: string | null } };
  const position = data.offset * 1_000 + data.node_id;
  const contract = data.contract_id ?? '';
  if (position < (newestById.get(contract) ?? -1)) reorderedCount += 1;
  newestById.set(contract, position);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    recordDelivery(String(request.headers['webhook-id']), Buffer.concat(chunks).toString());
  });
});
process.on('message', () => {
  process.send?.({
    received: receivedCount,
    different: ids.size,
    reordered: reorderedCount,
    firstAt,
    lastAt,
  } satisfies ReceiverResult);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
