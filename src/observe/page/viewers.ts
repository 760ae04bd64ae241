/**
 * Those who look at the page: Server-Sent Events, one message per second made once for all of them. Their number is
 * bounded, a viewer that does not read is cut off, and nothing is computed for the page while nobody looks.
 */
import type { ServerResponse } from 'node:http';

/** Browsers on a few desks and screens on walls. */
const mostViewers = 50;
/** What may wait for one viewer, bytes: several seconds of messages. */
const mostWaiting = 256 * 1024;

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Proxies such as nginx would keep messages back otherwise.
  'x-accel-buffering': 'no',
};

/** A message as it is sent; names are those of the browser's EventSource. */
export function message(event: string, data: unknown): string {
  // JSON has no line breaks outside of strings, and escapes those within.
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export class Viewers {
  readonly #viewers = new Set<ServerResponse>();
  #closed = false;

  get size(): number {
    return this.#viewers.size;
  }

  /** Whether no one else is let in. */
  get full(): boolean {
    return this.#closed || this.#viewers.size >= mostViewers;
  }

  /** Lets a viewer in and greets it. */
  admit(response: ServerResponse, greeting: string): void {
    response.writeHead(200, headers);
    response.once('close', () => this.#viewers.delete(response));
    response.on('error', () => response.destroy());
    this.#viewers.add(response);
    // A page that loses us tries again after a second.
    response.write(`retry: 1000\n${greeting}`);
  }

  /** The same message to all. */
  send(text: string): void {
    for (const viewer of this.#viewers) {
      if (viewer.writableLength > mostWaiting) viewer.destroy();
      else viewer.write(text);
    }
  }

  /** Says goodbye to all; nobody is let in any more. */
  close(): void {
    this.#closed = true;
    for (const viewer of this.#viewers) viewer.end(message('bye', null));
  }
}
