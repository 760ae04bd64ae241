/** Reads the updates of a ledger as an indexer with the recorded filter requests them, without code of the indexer. */
import { WebSocket } from 'ws';
import type { Recording } from '../recording.ts';

/** The frames with updates up to the recorded ledger end, as the participant sends them. */
export function framesOf(url: string, { interfaces, ledgerEnd }: Recording): Promise<readonly string[]> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v2/updates`, ['daml.ws.auth']);
  const frames: string[] = [];
  return new Promise((resolve, reject) => {
    socket.on('open', () => socket.send(JSON.stringify(requestFor(interfaces, ledgerEnd))));
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      if (/^\{"update":\{"(?:Transaction|Reassignment|TopologyTransaction)"/.test(text)) frames.push(text);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(frames));
  });
}

function requestFor(interfaces: readonly string[], endInclusive: number): object {
  const wildcard = { identifierFilter: { WildcardFilter: { value: { includeCreatedEventBlob: false } } } };
  const views = interfaces.map((interfaceId) => ({
    identifierFilter: {
      InterfaceFilter: { value: { interfaceId, includeInterfaceView: true, includeCreatedEventBlob: false } },
    },
  }));
  const eventFormat = { filtersByParty: {}, filtersForAnyParty: { cumulative: [wildcard, ...views] }, verbose: false };
  return {
    beginExclusive: 0,
    endInclusive,
    updateFormat: {
      includeTransactions: { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
      includeReassignments: eventFormat,
      includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties: [] } },
    },
  };
}
