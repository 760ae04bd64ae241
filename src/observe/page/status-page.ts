/**
 * The page at `/`, its events at `/events`, and a single update at `/update`. Once a second it takes a sample for the
 * plots and, while there are viewers, builds one message for all of them. The page contains no payload, no party and no
 * secret.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { scrub } from '../figures/scrub.ts';
import type { HealthTracker, StatusDocument } from '../health/health-tracker.ts';
import type { HelloMessage, PageGuide, Sample, TickMessage } from './messages.ts';
import { loadDocument, type PageDocument } from './page-document.ts';
import { type ReadRecentFacts, RecentFactsReader } from './recent-facts.ts';
import { OutlineReader, type ReadUpdateOutline } from './update-outline.ts';

export interface StatusPageOptions {
  readonly health: Pick<HealthTracker, 'status' | 'throughput'>;
  readonly readRecent?: ReadRecentFacts;
  /** If absent, updates cannot be opened. */
  readonly readOutline?: ReadUpdateOutline;
  readonly guide?: PageGuide | undefined;
  /** Whether the caller may use `/query`; if absent, no caller may. */
  readonly mayQuery?: (request: IncomingMessage) => boolean;
  /** Milliseconds between messages; default 1000. */
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
  readonly #viewers = new ViewerSet();
  readonly #recent: RecentFactsReader | undefined;
  readonly #outlines: OutlineReader;
  readonly #timer: NodeJS.Timeout;

  constructor(options: StatusPageOptions) {
    this.#options = options;
    const { readRecent, readOutline: readUpdateOutline = () => Promise.resolve(undefined), everyMs = 1000 } = options;
    this.#outlines = new OutlineReader(readUpdateOutline);
    this.#recent = readRecent && new RecentFactsReader(readRecent, everyMs);
    this.#timer = setInterval(() => this.#tick(), everyMs).unref();
    this.#history.add(options.health.status(), Date.now());
  }

  /** Number of viewers. */
  get viewers(): number {
    return this.#viewers.size;
  }

  /** Responds to `/` with the same document for all callers. */
  answerPage(response: ServerResponse): void {
    response.writeHead(200, this.#document.headers);
    response.end(this.#document.html);
  }

  /** Serves `/events` until the viewer leaves, is disconnected, or the server closes. */
  answerEvents(request: IncomingMessage, response: ServerResponse): void {
    if (this.#viewers.full) {
      response.writeHead(503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '10' });
      response.end('{"error":"too many pages are open: try again"}\n');
      return;
    }
    const { guide: pageGuide = null, mayQuery: canQuery = () => false } = this.#options;
    const helloMessage: HelloMessage = {
      guide: pageGuide,
      mayQuery: canQuery(request),
      samples: this.#history.samples,
    };
    this.#viewers.admit(response, message('hello', helloMessage) + this.#now());
    if (request.method === 'HEAD') response.end();
    // The first viewer gets the facts of the previous viewer. The next second brings newer ones.
    void this.#recent?.refresh().then(() => this.#viewers.send(this.#now()));
  }

  /** Responds to `/update?offset=N`. Never rejects. */
  async answerUpdate(query: string, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#outlines.answer(query);
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(`${scrub(JSON.stringify(body))}\n`);
  }

  /** Stops the timer and disconnects all viewers. */
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
    const tick: TickMessage = { status, sample, recent };
    return message('tick', tick);
  }
}

// Viewers of the page. They receive Server-Sent Events, with one message per second that is built once for all viewers.
// The number of viewers is limited. A viewer that does not read is disconnected. While there are no viewers, nothing is
// computed for the page.

/** Maximum number of viewers. It is sufficient for the browsers of a few users and for some wall displays. */
const maxViewers = 50;
/** Maximum size of unsent data for one viewer, bytes: several seconds of messages. */
const maxBufferedBytes = 256 * 1024;

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Without this header, proxies such as nginx would buffer messages.
  'x-accel-buffering': 'no',
};

/** Encodes a message for the browser's EventSource. */
function message(event: string, data: unknown): string {
  // JSON has no line breaks outside of strings, and they are escaped inside.
  return `event: ${event}\ndata: ${scrub(JSON.stringify(data))}\n\n`;
}

class ViewerSet {
  readonly #viewers = new Set<ServerResponse>();
  #closed = false;

  get size(): number {
    return this.#viewers.size;
  }

  /** Whether the maximum number of viewers is reached. */
  get full(): boolean {
    return this.#closed || this.#viewers.size >= maxViewers;
  }

  /** Adds a viewer and sends its first message. */
  admit(response: ServerResponse, firstMessage: string): void {
    response.writeHead(200, headers);
    response.once('close', () => this.#viewers.delete(response));
    response.on('error', () => response.destroy());
    this.#viewers.add(response);
    // A page that loses the connection reconnects after a second.
    response.write(`retry: 1000\n${firstMessage}`);
  }

  /** Sends the same message to all viewers. */
  send(text: string): void {
    for (const viewerResponse of this.#viewers) {
      if (viewerResponse.writableLength > maxBufferedBytes) viewerResponse.destroy();
      else viewerResponse.write(text);
    }
  }

  /** Disconnects all viewers and accepts no more. */
  close(): void {
    this.#closed = true;
    for (const viewerResponse of this.#viewers) viewerResponse.end(message('bye', null));
  }
}

// One sample per second of the last minutes, so that the plots are complete as soon as a page is opened.

/** Number of samples: five minutes. */
const maxSamples = 300;

/** While updates arrive, the delay with which the newest update was stored. Otherwise, the age of the missing data. */
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
    this.#samples = [...this.#samples.slice(1 - maxSamples), sample];
    return sample;
  }
}
