/**
 * Recorded requests to a participant. Each is sent again in the recorded way (WebSocket or HTTP), without code of the
 * product.
 */
import { WebSocket } from 'ws';

/** A response in a common form. */
export interface Answered {
  /** Status of an HTTP response, or of a rejected handshake. */
  readonly status?: number;
  readonly contentType?: string;
  readonly body?: string;
  readonly frames: readonly string[];
  /** Subprotocol that the server selected. */
  readonly protocol?: string;
  /** Error message of the client library. */
  readonly error?: string;
  /** Close code and reason; `open` if nothing ended the stream. */
  readonly close?: readonly [number, string] | 'open';
}

/** One recorded exchange. */
export interface Recorded {
  readonly name: string;
  /** Path of a WebSocket, or of a POST if there is an `answer`. */
  readonly path?: string;
  readonly protocols?: readonly string[];
  readonly sent?: unknown;
  readonly request?: { readonly method: string; readonly path: string; readonly body?: unknown };
  readonly frames?: readonly string[];
  readonly upgrade?: Readonly<Record<string, string>>;
  readonly error?: string;
  readonly close?: readonly [number, string];
  /** Present if nothing ended the stream. */
  readonly open?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the response, or of the request if there is an `answer`. */
  readonly body?: unknown;
  readonly answer?: string;
}

/** The recorded response, in the same form as actual responses. */
export function recordedAnswer(recorded: Recorded): Answered {
  const { frames = [], upgrade, error, close, open, status, headers, answer, body } = recorded;
  const protocol = upgrade?.['sec-websocket-protocol'];
  const contentType = headers?.['content-type'];
  const ended = open === undefined ? close : 'open';
  return {
    ...(status === undefined ? {} : { status }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(typeof (answer ?? body) === 'string' ? { body: String(answer ?? body) } : {}),
    frames,
    ...(protocol === undefined ? {} : { protocol }),
    ...(error === undefined ? {} : { error }),
    ...(ended === undefined ? {} : { close: ended }),
  };
}

const textOf = (sent: unknown): string => (typeof sent === 'string' ? sent : JSON.stringify(sent));

async function ask(url: string, request: NonNullable<Recorded['request']>, token?: string): Promise<Answered> {
  const { method, path, body } = request;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const sent = body === undefined ? {} : { body: textOf(body) };
  const answer = await fetch(`${url}${path}`, { method, headers, ...sent });
  const contentType = answer.headers.get('content-type') ?? '';
  return { status: answer.status, contentType, body: await answer.text(), frames: [] };
}

/** Resolves when the server has responded to a ping, so that all its earlier messages have arrived. */
export async function pong(socket: WebSocket): Promise<void> {
  await new Promise((resolve) => {
    socket.once('pong', resolve);
    socket.ping();
  });
}

/**
 * @param enough number of frames after which to stop, for a stream that does not end; undefined for streams that end
 */
async function stream(url: string, recorded: Recorded, enough?: number, token?: string): Promise<Answered> {
  const { path = '', protocols = [], sent } = recorded;
  const offered = protocols.map((name) => (name.startsWith('jwt.token.') ? `jwt.token.${token ?? ''}` : name));
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, offered);
  const frames: string[] = [];
  const seen: { error?: string; protocol?: string; status?: number; contentType?: string; body?: string } = {};
  socket.on('upgrade', ({ headers }) => (seen.protocol = headers['sec-websocket-protocol'] ?? ''));
  socket.on('error', ({ message }) => (seen.error = message));
  const close = await new Promise<readonly [number, string] | 'open' | undefined>((resolve) => {
    const stillOpen = (): void => {
      if (frames.length === enough) void pong(socket).then(() => resolve('open'));
    };
    socket.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const contentType = response.headers['content-type'] ?? '';
        Object.assign(seen, { status: response.statusCode, contentType, body: Buffer.concat(chunks).toString() });
        resolve(undefined);
      });
    });
    socket.on('open', () => {
      if (sent !== undefined) socket.send(textOf(sent));
      stillOpen();
    });
    socket.on('message', (data: Buffer) => {
      frames.push(data.toString());
      stillOpen();
    });
    socket.on('close', (code, reason) => resolve([code, reason.toString()]));
  });
  socket.terminate();
  return { ...seen, frames, ...(close === undefined ? {} : { close }) };
}

/** Sends a recorded request again. @param token sent in the header, or in place of the recorded subprotocol token */
export async function replay(url: string, recorded: Recorded, token?: string): Promise<Answered> {
  if (recorded.request !== undefined) return await ask(url, recorded.request, token);
  if (recorded.answer !== undefined) {
    return await ask(url, { method: 'POST', path: recorded.path ?? '', body: recorded.body }, token);
  }
  return await stream(url, recorded, recorded.open === undefined ? undefined : (recorded.frames ?? []).length, token);
}
