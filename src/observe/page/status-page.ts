/**
 * The page at `/`, its events at `/events`, and an update as it opens it at `/update`. Once a second: a sample for the plots, and, while somebody looks, one
 * message for all of them. Holds no payload, no party and no secret, so none can be shown.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { scrub } from '../figures/scrub.ts';
import type { HealthTracker, StatusDocument } from '../health/health-tracker.ts';
import type { Hello, PageGuide, Sample, Tick } from './messages.ts';
import { loadDocument, type PageDocument } from './page-document.ts';
import { type ReadRecentFacts, RecentReader } from './recent-facts.ts';
import { OutlineReader, type ReadUpdateOutline } from './update-outline.ts';

export interface StatusPageOptions {
  readonly health: Pick<HealthTracker, 'status' | 'throughput'>;
  readonly readRecent?: ReadRecentFacts;
  /** Without it no update opens. */
  readonly readOutline?: ReadUpdateOutline;
  readonly guide?: PageGuide | undefined;
  /** Whether whoever sent this may ask questions at `/query`; nobody without it. */
  readonly mayQuery?: (request: IncomingMessage) => boolean;
  /** Milliseconds between messages; 1000 by default. */
  readonly everyMs?: number;
}

export class StatusPage {
  readonly #options: StatusPageOptions;
  readonly #document: PageDocument = loadDocument({
    page: 'page.html',
    styles: ['page.css', 'plots.css', 'tables.css', 'outline.css', 'screens.css'],
    scripts: ['format.js', 'elements.js', 'plot.js', 'outline.js', 'tables.js', 'jobs.js', 'main.js'],
  });
  readonly #history = new LiveHistory();
  readonly #viewers = new Viewers();
  readonly #recent: RecentReader | undefined;
  readonly #outlines: OutlineReader;
  readonly #timer: NodeJS.Timeout;

  constructor(options: StatusPageOptions) {
    this.#options = options;
    const { readRecent, readOutline = () => Promise.resolve(undefined), everyMs = 1000 } = options;
    this.#outlines = new OutlineReader(readOutline);
    this.#recent = readRecent && new RecentReader(readRecent, everyMs);
    this.#timer = setInterval(() => this.#tick(), everyMs).unref();
    this.#history.add(options.health.status(), Date.now());
  }

  /** How many look now. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** Answers `/`: the same document for everybody. */
  answerPage(response: ServerResponse): void {
    response.writeHead(200, this.#document.headers);
    response.end(this.#document.html);
  }

  /** Answers `/events` until the viewer leaves, is cut off, or the server closes. */
  answerEvents(request: IncomingMessage, response: ServerResponse): void {
    if (this.#viewers.full) {
      response.writeHead(503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '10' });
      response.end('{"error":"too many pages are open: try again"}\n');
      return;
    }
    const { guide = null, mayQuery = () => false } = this.#options;
    const hello: Hello = { guide, mayQuery: mayQuery(request), samples: this.#history.samples };
    this.#viewers.admit(response, message('hello', hello) + this.#now());
    if (request.method === 'HEAD') response.end();
    // The first to come sees what was read for the last one before; the next second brings more.
    void this.#recent?.refresh().then(() => this.#viewers.send(this.#now()));
  }

  /** Answers `/update?offset=N`. Never rejects. */
  async answerUpdate(query: string, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#outlines.answer(query);
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(`${scrub(JSON.stringify(body))}\n`);
  }

  /** Stops the clock and lets all viewers go. */
  close(): void {
    clearInterval(this.#timer);
    this.#viewers.close();
  }

  #tick(): void {
    this.#history.add(this.#options.health.status(), Date.now());
    if (this.#viewers.size === 0) return;
    void this.#recent?.refresh();
    this.#viewers.send(this.#now());
  }

  #now(): string {
    const { health } = this.#options;
    const { counts: _counts, lastError: _lastError, ...status } = health.status();
    const { facts = null, readAt = null, failure = null } = this.#recent?.latest ?? {};
    const templates = facts?.templates.map((template) => ({
      ...template,
      rate: health.throughput.templateRate(template.name),
    }));
    const sample = this.#history.samples.at(-1);
    const recent = { templates: templates ?? null, updates: facts?.updates ?? null, readAt, failure };
    const tick: Tick = { status, sample, recent };
    return message('tick', tick);
  }
}

// Those who look at the page: Server-Sent Events, one message per second made once for all of them. Their number is
// bounded, a viewer that does not read is cut off, and nothing is computed for the page while nobody looks.

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
function message(event: string, data: unknown): string {
  // JSON has no line breaks outside of strings, and escapes those within.
  return `event: ${event}\ndata: ${scrub(JSON.stringify(data))}\n\n`;
}

class Viewers {
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

// One sample per second of the last minutes, so that a page opened later shows its plots at once.

/** Five minutes. */
const kept = 300;

/** While updates arrive, how late the newest was stored; without any, the age of what is missing. */
function lagOf({ ingestLatencySeconds, lagSeconds }: StatusDocument): number | null {
  return ingestLatencySeconds ?? lagSeconds;
}

class LiveHistory {
  #samples: readonly Sample[] = [];

  /** The oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  add(status: StatusDocument, at: number): Sample {
    const { updatesPerSecond, eventsPerSecond, commitMilliseconds } = status;
    const sample: Sample = [at, updatesPerSecond, eventsPerSecond, commitMilliseconds, lagOf(status)];
    this.#samples = [...this.#samples.slice(1 - kept), sample];
    return sample;
  }
}
