/**
 * The page at `/` and its events at `/events`. Once a second: a sample for the plots, and, while somebody looks, one
 * message for all of them. Holds no payload, no party and no secret, so none can be shown.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { scrub } from '../figures/scrub.ts';
import type { HealthTracker } from '../health/health-tracker.ts';
import { loadDocument, type PageDocument } from './document.ts';
import { LiveHistory } from './live-history.ts';
import type { Hello, PageGuide, Tick } from './messages.ts';
import { RecentReader, type ReadRecentFacts } from './recent-facts.ts';
import { message, Viewers } from './viewers.ts';

export interface StatusPageOptions {
  readonly health: Pick<HealthTracker, 'status' | 'templateRate'>;
  readonly readRecent?: ReadRecentFacts;
  readonly guide?: PageGuide | undefined;
  /** Milliseconds between messages; 1000 by default. */
  readonly everyMs?: number;
}

export class StatusPage {
  readonly #options: StatusPageOptions;
  readonly #document: PageDocument = loadDocument();
  readonly #history = new LiveHistory();
  readonly #viewers = new Viewers();
  readonly #recent: RecentReader | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(options: StatusPageOptions) {
    this.#options = options;
    const { readRecent, everyMs = 1000 } = options;
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
    const hello: Hello = { guide: this.#options.guide ?? null, samples: this.#history.samples };
    this.#viewers.admit(response, message('hello', hello) + this.#now());
    if (request.method === 'HEAD') response.end();
    // The first to come sees what was read for the last one before; the next second brings more.
    void this.#recent?.refresh().then(() => this.#viewers.send(this.#now()));
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
    const templates = facts?.templates.map((template) => ({ ...template, rate: health.templateRate(template.name) }));
    const sample = this.#history.samples.at(-1);
    const recent = { templates: templates ?? null, updates: facts?.updates ?? null, readAt, failure };
    const tick: Tick = { status, sample, recent };
    return scrub(message('tick', tick));
  }
}
