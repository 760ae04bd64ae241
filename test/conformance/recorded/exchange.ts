/**
 * Recorded requests to a participant. Each is sent again in the recorded way (WebSocket or HTTP), without code of the
 * product.
 */
import { WebSocket } from 'ws';

/** A response in a common form. */
export interface ExchangeResult {
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
export interface RecordedExchange {
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
export function recordedResponse(exchange: RecordedExchange): ExchangeResult {
  const { frames = [], upgrade, error, close, open: openFrame, status, headers, answer: answerText, body } = exchange;
  const protocol = upgrade?.['sec-websocket-protocol'];
  const contentType = headers?.['content-type'];
  const endState = openFrame === undefined ? close : 'open';
  return {
    ...(status === undefined ? {} : { status }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(typeof (answerText ?? body) === 'string' ? { body: String(answerText ?? body) } : {}),
    frames,
    ...(protocol === undefined ? {} : { protocol }),
    ...(error === undefined ? {} : { error }),
    ...(endState === undefined ? {} : { close: endState }),
  };
}

const textOf = (recordedValue: unknown): string =>
  typeof recordedValue === 'string' ? recordedValue : JSON.stringify(recordedValue);

async function sendRequest(
  url: string,
  request: NonNullable<RecordedExchange['request']>,
  token?: string,
): Promise<ExchangeResult> {
  const { method, path, body } = request;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const requestInit = body === undefined ? {} : { body: textOf(body) };
  const response = await fetch(`${url}${path}`, { method, headers, ...requestInit });
  const contentType = response.headers.get('content-type') ?? '';
  return { status: response.status, contentType, body: await response.text(), frames: [] };
}

/** Resolves when the server has responded to a ping, so that all its earlier messages have arrived. */
export async function pong(socket: WebSocket): Promise<void> {
  await new Promise((resolve) => {
    socket.once('pong', resolve);
    socket.ping();
  });
}

/**
 * @param frameLimit number of frames after which to stop, for a stream that does not end; undefined for streams that end
 */
async function stream(
  url: string,
  exchange: RecordedExchange,
  frameLimit?: number,
  token?: string,
): Promise<ExchangeResult> {
  const { path = '', protocols = [], sent: sentTexts } = exchange;
  const offeredProtocols = protocols.map((name) => (name.startsWith('jwt.token.') ? `jwt.token.${token ?? ''}` : name));
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, offeredProtocols);
  const frames: string[] = [];
  const streamResult: { error?: string; protocol?: string; status?: number; contentType?: string; body?: string } = {};
  socket.on('upgrade', ({ headers }) => (streamResult.protocol = headers['sec-websocket-protocol'] ?? ''));
  socket.on('error', ({ message }) => (streamResult.error = message));
  const close = await new Promise<readonly [number, string] | 'open' | undefined>((resolve) => {
    const stopWhenOpen = (): void => {
      if (frames.length === frameLimit) void pong(socket).then(() => resolve('open'));
    };
    socket.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const contentType = response.headers['content-type'] ?? '';
        Object.assign(streamResult, {
          status: response.statusCode,
          contentType,
          body: Buffer.concat(chunks).toString(),
        });
        resolve(undefined);
      });
    });
    socket.on('open', () => {
      if (sentTexts !== undefined) socket.send(textOf(sentTexts));
      stopWhenOpen();
    });
    socket.on('message', (data: Buffer) => {
      frames.push(data.toString());
      stopWhenOpen();
    });
    socket.on('close', (code, reason) => resolve([code, reason.toString()]));
  });
  socket.terminate();
  return { ...streamResult, frames, ...(close === undefined ? {} : { close }) };
}

/** Sends a recorded request again. @param token sent in the header, or in place of the recorded subprotocol token */
export async function replay(url: string, exchange: RecordedExchange, token?: string): Promise<ExchangeResult> {
  if (exchange.request !== undefined) return await sendRequest(url, exchange.request, token);
  if (exchange.answer !== undefined) {
    return await sendRequest(url, { method: 'POST', path: exchange.path ?? '', body: exchange.body }, token);
  }
  return await stream(url, exchange, exchange.open === undefined ? undefined : (exchange.frames ?? []).length, token);
}
