/** A ledger that sends updates in the order that the test sets. */
import { startFakeLedger, type FakeLedger } from '../../ledger/fake-ledger.ts';
import { alice, created, exercised, text, transaction } from '../../support/frames.ts';

/** An update that creates a contract. */
const create = (offset: number, id: string, party = alice): ReturnType<typeof transaction> =>
  transaction(offset, [{ CreatedEvent: created({ contractId: id, offset, signatories: [party] }) }]);
/** An update that archives one contract and creates another. */
export const move = (offset: number, from: string, to: string, party = alice): ReturnType<typeof transaction> =>
  transaction(offset, [
    { ExercisedEvent: exercised({ contractId: from, offset, nodeId: 0 }) },
    { CreatedEvent: created({ contractId: to, offset, nodeId: 1, signatories: [party] }) },
  ]);

/** Five correct updates, at offsets 1 to 5. */
export const validUpdates = [
  create(1, '00a'),
  move(2, '00a', '00b'),
  move(3, '00b', '00c'),
  create(4, '00d'),
  create(5, '00e'),
];
/**
 * Serves these updates in this order. A stream from genesis gets all of them, and a later stream gets the rest. A
 * request for a single update returns a correct update.
 */
export async function scriptedLedger(updates: readonly unknown[]): Promise<FakeLedger & AsyncDisposable> {
  const responsesByUrl: Record<string, object> = {
    '/v2/parties/participant-id': { participantId: 'p::1220' },
    '/v2/state/ledger-end': { offset: Math.max(5, updates.length) },
    '/v2/state/latest-pruned-offsets': { participantPrunedUpToInclusive: 0 },
    '/v2/updates/update-by-offset': validUpdates[0] ?? {},
  };
  const ledger = await startFakeLedger({
    http: (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const offset = /"offset":(\d+)/.exec(Buffer.concat(chunks).toString('utf8'))?.[1];
        const scripted =
          offset === undefined
            ? responsesByUrl[request.url ?? '']
            : (validUpdates[Number(offset) - 1] ?? updates[Number(offset) - 1]);
        response.writeHead(scripted === undefined ? 404 : 200).end(JSON.stringify(scripted ?? {}));
      });
    },
    socket: (socket, request) => {
      const beginOffset = Number(/"beginExclusive":(\d+)/.exec(request)?.[1]);
      updates.slice(beginOffset).forEach((update) => {
        socket.send(text(update as ReturnType<typeof transaction>));
      });
    },
  });
  return { ...ledger, [Symbol.asyncDispose]: () => ledger.stop() };
}
