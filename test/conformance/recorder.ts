/**
 * A reverse proxy between client and participant that records every response, and every text frame of a stream. It only
 * changes the host name.
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { textFrames } from './text-frames.ts';

/** One response to a request, or to a rejected handshake. */
export interface RecordedResponse {
  readonly method: string;
  /** Path and query, without the path of the base URL. */
  readonly path: string;
  readonly status: number;
  /** '' if there is no content type. */
  readonly contentType: string;
  readonly body: string;
}

export interface RecordedFrame {
  readonly path: string;
  readonly text: string;
}

export interface Recorder extends AsyncDisposable {
  /** URL of the recorder, with the path of the participant's base URL and without a trailing slash. */
  readonly url: string;
  readonly answers: readonly RecordedResponse[];
  readonly frames: readonly RecordedFrame[];
  /** Discards everything that was recorded. */
  clear(): void;
}

type SentRequest = ReturnType<typeof httpRequest>;

function headLines(response: IncomingMessage): string {
  const { rawHeaders, statusCode = 0, statusMessage = '' } = response;
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index] ?? ''}: ${rawHeaders[index + 1] ?? ''}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Connects two sockets: forwards bytes in both directions, and ends both together. */
function join(client: Duplex, participant: Duplex): void {
  client.on('error', () => participant.destroy()).on('close', () => participant.destroy());
  // `end` instead of `destroy`, because the last frame may not have been sent yet.
  participant.on('error', () => client.destroy()).on('close', () => client.end());
  client.pipe(participant);
  participant.pipe(client);
}

/** Starts a recorder on a free local port. @param target base URL of the participant */
export async function startRecorder(target: string): Promise<Recorder> {
  const base = new URL(target);
  const prefix = base.pathname.replace(/\/$/u, '');
  const recordedAnswers: RecordedResponse[] = [];
  const frames: RecordedFrame[] = [];
  const sockets = new Set<Duplex>();

  const send = ({ method = 'GET', url = '/', headers }: IncomingMessage): SentRequest => {
    const request = base.protocol === 'https:' ? httpsRequest : httpRequest;
    return request(new URL(url, base.origin), { method, headers: { ...headers, host: base.host }, agent: false });
  };
  const keep = async (request: IncomingMessage, response: IncomingMessage): Promise<Buffer> => {
    const body = await bodyOf(response);
    recordedAnswers.push({
      method: request.method ?? 'GET',
      path: (request.url ?? '/').slice(prefix.length),
      status: response.statusCode ?? 0,
      contentType: response.headers['content-type'] ?? '',
      body: body.toString('utf8'),
    });
    return body;
  };

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const clientRequest = send(request);
    clientRequest.on('error', () => response.destroy());
    clientRequest.on('response', (serverResponse) => {
      keep(request, serverResponse).then(
        (body) => response.writeHead(serverResponse.statusCode ?? 0, serverResponse.headers).end(body),
        () => response.destroy(),
      );
    });
    request.pipe(clientRequest);
  });
  server.on('upgrade', (request: IncomingMessage, client: Duplex) => {
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    const clientRequest = send(request);
    clientRequest.on('error', () => client.destroy());
    clientRequest.on('response', (response) => {
      keep(request, response).then(
        (body) => client.end(Buffer.concat([Buffer.from(headLines(response)), body])),
        () => client.destroy(),
      );
    });
    clientRequest.on('upgrade', (response, participant: Duplex, head: Buffer) => {
      client.write(headLines(response));
      const readFrames = textFrames((text) => frames.push({ path: (request.url ?? '/').slice(prefix.length), text }));
      participant.on('data', readFrames);
      join(client, participant);
      if (head.length > 0) participant.unshift(head);
    });
    clientRequest.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    answers: recordedAnswers,
    frames,
    clear: () => {
      recordedAnswers.length = 0;
      frames.length = 0;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
