/** Raw access to the protocol for the sandbox tests: plain `ws` and `fetch`, without client code of the indexer. */
import { WebSocket } from 'ws';

export interface Received {
  readonly frames: string[];
  readonly code: number;
  readonly protocol: string;
}

/** Opens a stream and sends one request. Collects frames until the close, or until `hasEnoughFrames` returns true. */
export async function stream(
  url: string,
  path: string,
  request: unknown,
  hasEnoughFrames: (frames: readonly string[]) => boolean = () => false,
  options: { readonly protocols?: string[]; readonly headers?: Record<string, string> } = {},
): Promise<Received> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, options.protocols ?? ['daml.ws.auth'], {
    headers: options.headers ?? {},
  });
  const frames: string[] = [];
  let isEnough = false;
  return await new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => socket.send(typeof request === 'string' ? request : JSON.stringify(request)));
    socket.on('message', (data: Buffer) => {
      // Other frames may have arrived together with the last frame.
      if (isEnough) return;
      frames.push(data.toString());
      isEnough = hasEnoughFrames(frames);
      if (isEnough) socket.terminate();
    });
    socket.on('close', (code) => resolve({ frames, code, protocol: socket.protocol }));
  });
}

export async function post(url: string, path: string, body: unknown): Promise<{ status: number; body: Answer }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer };
}

/** A JSON response, to be read with `at`. */
export type Answer = Record<string, unknown>;

/** The value at a path of keys and indexes; undefined if a step is missing. */
export function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current: unknown = value;
  for (const key of path) current = (current as Record<string | number, unknown> | undefined | null)?.[key];
  return current;
}

export const anyParty = { filtersByParty: {}, filtersForAnyParty: {}, verbose: false };

export function updateFormat(shape: 'LEDGER_EFFECTS' | 'ACS_DELTA', eventFormat: unknown = anyParty): unknown {
  return {
    includeTransactions: { eventFormat, transactionShape: `TRANSACTION_SHAPE_${shape}` },
    includeReassignments: eventFormat,
    includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties: [] } },
  };
}
