/** Requests sent as raw bytes, without an HTTP client that would correct them. */
import { connect, type Socket } from 'node:net';

export interface RawConnection {
  readonly socket: Socket;
  /** The response received so far. */
  readonly heard: () => string;
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;
}

const limitMs = 30_000;

/** Opens a connection to the local port and sends the text. */
export function openRawConnection(port: number, text = ''): RawConnection {
  const socket = connect(port, '127.0.0.1');
  const chunks: string[] = [];
  socket.setEncoding('latin1').on('data', (chunk: string) => chunks.push(chunk));
  socket.on('error', () => undefined);
  const whenClosed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  if (text !== '') socket.write(text, 'latin1');
  return { socket, heard: () => chunks.join(''), closed: whenClosed };
}

/** The complete response: reads until the server closes the connection, for at most half a minute. */
export async function exchange(port: number, text: string): Promise<string> {
  const { socket, heard: readReceived, closed: whenClosed } = openRawConnection(port, text);
  const limit = setTimeout(() => socket.destroy(), limitMs);
  await whenClosed;
  clearTimeout(limit);
  return readReceived();
}

/**
 * A request after which the server must close the connection. @param lines request line and headers; a local `Host` is
 * added if there is none
 */
export function head(...lines: readonly string[]): string {
  const [first = '', ...headers] = lines;
  const hosts = headers.some((line) => /^host:/i.test(line)) ? [] : ['Host: 127.0.0.1'];
  return `${[first, ...hosts, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;
}

/** Status code of a response; 0 if there is none. */
export function statusOf(responseText: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3})/.exec(responseText)?.[1] ?? 0);
}
