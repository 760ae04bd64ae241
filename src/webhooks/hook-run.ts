/**
 * Deliveries to one webhook, from its cursor, while this process holds the writer lock. Each event is sent until it is
 * accepted or abandoned. After a crash an accepted event may be sent again, with the same id. One loop makes all
 * changes to the window and the database, so changes are never concurrent.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Change, ChangesPage } from '../model/push/changes.ts';
import { toIndexerError } from '../errors/indexer-error.ts';
import type { DeadLetter, Webhook } from '../model/push/webhook.ts';
import { backoffMs } from './back-off.ts';
import { deadLetterOf, endOf, eventOf, isSame } from './event.ts';
import { firstRows, rowsAfter } from './page-rows.ts';
import type { DeliveryOptions } from './ports.ts';
import { WebhookSender, type DeliveryResult } from './post.ts';
import { signedHeaders } from './signature.ts';
import { DeliveryWindow, type WindowEvent } from './window.ts';

/** Maximum number of concurrent deliveries, each of another contract. */
const connections = 16;
/** Delay before the next event after a response that had to be aborted, milliseconds. */
const pauseAfterAbortMs = 250;
export const timeoutMs = 15_000;
/** Maximum number of loaded events. A failing contract delays others once this many events came after it. */
const maxEvents = 1_000;
const maxCharacters = 16 * 1024 * 1024;
/** Interval of recording deliveries in the database, milliseconds. After a crash, unrecorded ones are sent again. */
const saveIntervalMs = 250;
/** Maximum wait of a stop for responses, milliseconds. */
const finishMs = 2_000;
/** Delay between two pages at the end of history, milliseconds, so that many commits are read together. */
const pageEveryMs = 50;
const maxReplays = 100;

const blockedProblem = 'an earlier event of its contract was not accepted';
const lostProblem = 'it is not in history any more, or not visible to the role';

interface DeliveryOutcome {
  readonly event: WindowEvent;
  readonly answer: DeliveryResult;
}

/** `moved`: the cursor was changed by a command, or the webhook is not active any more. `ended`: nothing more is sent. */
export type RunEnd = 'stopped' | 'moved' | 'ended';

export class HookRun {
  readonly #webhook: Webhook;
  readonly #options: DeliveryOptions;
  readonly #poster: WebhookSender;
  readonly #outcomes: DeliveryOutcome[] = [];
  #window = new DeliveryWindow(null);
  #dead: ReadonlySet<string> = new Set();
  #underWay = 0;
  #wake: () => void = () => undefined;
  /** Whether there may be changes after the last page, because something was committed. */
  #mayRead = true;
  #isReading = false;
  #rows = firstRows;
  readonly #pages: (ChangesPage | Error)[] = [];
  /** Whether everything up to the end of the webhook was read, and its last event is still to be added. */
  #isComplete = false;
  #readAt = 0;
  /** Time of the last check. The first one precedes the first page: it reads which contracts have dead letters. */
  #lookedAt = -Infinity;
  /** The cursor that is stored in the database. */
  #noted: DeliveryWindow['cursor'] = null;
  #updatedAt = 0;
  /** While the receiver is away, nothing is sent until this time. The next field counts its consecutive absences. */
  #awayUntil = 0;
  #awayTimes = 0;
  #hasMissed = false;
  /** Why the last attempt failed; null if it succeeded. The next field is the value in the database. */
  #problem: string | null | undefined;
  #notedProblem: string | null | undefined;

  constructor(webhook: Webhook, options: DeliveryOptions) {
    this.#webhook = webhook;
    this.#options = options;
    this.#poster = new WebhookSender({ reach: options.reach, connections, timeoutMs });
  }

  /** Called when something was committed. */
  stir(): void {
    this.#mayRead = true;
    this.#wake();
  }

  /** Delivers until stopped. @throws IndexerError of the database */
  async run(stop: AbortSignal): Promise<RunEnd> {
    const wakeRun = (): void => this.#wake();
    stop.addEventListener('abort', wakeRun);
    try {
      const cursor = await this.#options.store.cursor(this.#webhook);
      if (cursor === undefined) return 'moved';
      this.#noted = cursor;
      this.#window = new DeliveryWindow(cursor);
      const end = await this.#deliver(stop);
      if (end === 'stopped') await this.#note();
      return end;
    } finally {
      stop.removeEventListener('abort', wakeRun);
      this.#poster.close();
    }
  }

  async #deliver(stop: AbortSignal): Promise<RunEnd> {
    while (!stop.aborted && this.#options.isWriter()) {
      const now = performance.now();
      if (await this.#settle()) return 'ended';
      if (now - this.#lookedAt >= this.#options.lookMs && !(await this.#look(now))) return 'moved';
      await this.#takePages();
      if (this.#isComplete) this.#addEnd();
      if (this.#wantsPage(now)) void this.#read();
      this.#send();
      if (this.#isNoteDue(performance.now()) && !(await this.#note())) return 'moved';
      await this.#pause(stop);
    }
    // Without the writer lock, another process delivers and sends running deliveries again. Only one may deliver.
    if (this.#options.isWriter()) await this.#finish();
    return 'stopped';
  }

  /** Waits for running deliveries: if they are accepted, they need not be sent again. */
  async #finish(): Promise<void> {
    const end = performance.now() + finishMs;
    while (this.#underWay > 0 && performance.now() < end) await this.#sleep(end - performance.now());
    await this.#settle();
  }

  /** Waits until something happens, or is due. */
  async #pause(stop: AbortSignal): Promise<void> {
    const now = performance.now();
    const nextReadAt = this.#hasRoom() && this.#mayRead && !this.#isReading ? this.#readAt + pageEveryMs : Infinity;
    const nextSaveAt = this.#isMoved() ? this.#updatedAt + saveIntervalMs : Infinity;
    const nextSendAt = Math.max(this.#window.hasReady ? 0 : this.#window.nextDue(), this.#awayUntil);
    const sends = this.#underWay < this.#most() ? nextSendAt : Infinity;
    const next = Math.min(this.#lookedAt + this.#options.lookMs, nextReadAt, nextSaveAt, sends);
    const hasNews = this.#outcomes.length + this.#pages.length > 0;
    if (!hasNews && !stop.aborted && next > now) await this.#sleep(next - now);
    // Responses are processed in turns of the event loop, so they get a turn even if work is due.
    else await turn();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Checks for changes that commands have made to the webhook. @returns false if the cursor was changed */
  async #look(now: number): Promise<boolean> {
    const { store } = this.#options;
    this.#lookedAt = now;
    // This process may have missed a commit: before the run, or by another process.
    this.#mayRead = true;
    const cursor = await store.cursor(this.#webhook);
    if (cursor === undefined || !isSame(cursor, this.#noted)) return false;
    if (this.#problem !== undefined && this.#problem !== this.#notedProblem) {
      // May fail: deliveries do not depend on it, and `grant-roles` of an earlier version did not grant the right.
      await store.noteProblem(this.#webhook, (this.#notedProblem = this.#problem)).catch(() => undefined);
    }
    this.#dead = await store.deadContracts(this.#webhook);
    if (this.#dead.size > 0) await this.#readReplays();
    return true;
  }

  /** Loads dead letters that are to be sent again and are not loaded yet. */
  async #readReplays(): Promise<void> {
    const { store } = this.#options;
    const events: WindowEvent[] = [];
    for (const deadLetter of await store.replays(this.#webhook, maxReplays)) {
      if (this.#window.hasLetter(deadLetter)) continue;
      const change = await this.#changeOf(deadLetter);
      if (change === undefined)
        await store.bury(this.#webhook, [{ ...deadLetter, attempts: 0, replay: false, problem: lostProblem }]);
      else events.push(eventOf(this.#webhook, change, true));
    }
    this.#window.addLetters(events);
  }

  async #changeOf({ offset, node }: DeadLetter): Promise<Change | undefined> {
    const before = node === 0 ? { offset: offset - 1, node: null } : { offset, node: node - 1 };
    const { changes } = await this.#options.store.changes({ ...this.#wanted(), after: before }, 1);
    return changes.find((change) => change.offset === offset && change.node === node);
  }

  #hasRoom(): boolean {
    return this.#window.size < maxEvents && this.#window.characters < maxCharacters;
  }

  #wantsPage(now: number): boolean {
    return this.#mayRead && !this.#isReading && this.#hasRoom() && now >= this.#readAt + pageEveryMs;
  }

  #wanted() {
    const { template, party, eventTypes, projection, selection, until, role } = this.#webhook;
    return {
      template,
      party,
      eventTypes,
      projection,
      role,
      selection: selection ?? undefined,
      until: until ?? undefined,
    };
  }

  /** Reads a page while deliveries are running. Never rejects. */
  async #read(): Promise<void> {
    this.#mayRead = false;
    this.#isReading = true;
    const { offset, node } = this.#window.readTo ?? { offset: 0, node: null };
    try {
      // Without the SELECT of the previous page: after a change of the SELECT, its rows after the cursor follow.
      const after = { offset, node };
      const page = await this.#options.store.changes({ ...this.#wanted(), after }, this.#rows);
      this.#pages.push(page);
      this.#rows = rowsAfter(page) ?? this.#rows;
      // There is no pause after a full page.
      this.#readAt = page.atEnd ? performance.now() : 0;
      this.#mayRead ||= !page.atEnd;
    } catch (thrown) {
      this.#pages.push(toIndexerError(thrown));
    }
    this.#isReading = false;
    this.#wake();
  }

  async #takePages(): Promise<void> {
    for (const page of this.#pages.splice(0)) {
      if (page instanceof Error) throw page;
      if (page.checkpoint !== null) await this.#takePage(page);
    }
  }

  async #takePage(page: ChangesPage): Promise<void> {
    if (this.#window.readTo === null) return this.#begin(page);
    await this.#noteMissed(page);
    const events = page.changes.map((change) => eventOf(this.#webhook, change, false));
    const blockedEvents = events.filter(({ contract }) => this.#dead.has(contract));
    if (blockedEvents.length > 0) await this.#store(blockedEvents.map((event) => deadLetterOf(event, blockedProblem)));
    for (const event of blockedEvents) event.isDone = true;
    this.#window.add(events, page.next);
    this.#isComplete = page.isComplete === true;
  }

  /** Adds the last event when all others are accepted. */
  #addEnd(): void {
    const { readTo } = this.#window;
    if (this.#window.size > 0 || this.#dead.size > 0 || readTo === null) return;
    this.#isComplete = false;
    this.#window.add([endOf(this.#webhook, readTo, Date.now())], readTo);
  }

  #store(deadLetters: readonly DeadLetter[]): Promise<void> {
    return this.#options.store.bury(this.#webhook, deadLetters);
  }

  /** Starts at the beginning of the history, which is after the contracts that were active then. */
  #begin({ availableAfter }: ChangesPage): void {
    this.#window.add([], { offset: availableAfter ?? 0, node: null });
    this.#mayRead = true;
  }

  /** Records once that history is missing. The available history is delivered nevertheless. */
  async #noteMissed({ availableAfter }: ChangesPage): Promise<void> {
    const { offset } = this.#window.readTo ?? { offset: 0 };
    if (this.#hasMissed || availableAfter === null || offset >= availableAfter) return;
    this.#hasMissed = true;
    const missed = `history from offset ${String(offset)} to ${String(availableAfter)} is incomplete here`;
    await this.#options.store.noteMissed(this.#webhook, missed);
    this.#options.observer.webhookStuck(this.#webhook.name, missed);
  }

  /** Maximum number of concurrent deliveries. A single one tests whether an absent receiver is back. */
  #most(): number {
    return this.#awayTimes > 0 ? 1 : connections;
  }

  #send(): void {
    const now = performance.now();
    while (now >= this.#awayUntil && this.#underWay < this.#most()) {
      const event = this.#window.take(now);
      if (event === undefined) return;
      this.#underWay += 1;
      void this.#post(event);
    }
  }

  async #post(event: WindowEvent): Promise<void> {
    const { url, secrets } = this.#webhook;
    const { id, body } = event;
    const headers = {
      'content-type': 'application/json',
      'user-agent': this.#options.userAgent,
      ...signedHeaders(secrets, id, body, Date.now()),
    };
    const response = await this.#poster.post({ url, headers, body });
    this.#underWay -= 1;
    this.#outcomes.push({ event, answer: response });
    this.#wake();
  }

  /** Processes the outcomes of deliveries. @returns whether the receiver wants or gets no more events */
  async #settle(): Promise<boolean> {
    const { store, observer } = this.#options;
    for (const { event, answer: response } of this.#outcomes.splice(0)) {
      if (response.kind === 'gone') {
        await this.#note();
        await store.disable(this.#webhook);
        observer.webhookDisabled(this.#webhook.name);
        return true;
      }
      if (response.kind === 'away') this.#stayAway(event, response.problem, response.retryAfterMs);
      else {
        this.#awayTimes = 0;
        if (response.isCut === true) this.#slowDown();
        if (response.kind === 'delivered') await this.#delivered(event);
        if (response.kind === 'delivered' && event.isEnd === true) return this.#finishWebhook();
        if (response.kind === 'refused') await this.#refused(event, response.problem, response.retryAfterMs);
      }
    }
    return false;
  }

  async #finishWebhook(): Promise<true> {
    if (await this.#note()) await this.#options.store.finish(this.#webhook);
    return true;
  }

  async #delivered(event: WindowEvent): Promise<void> {
    const { store, observer } = this.#options;
    if (event.isLetter) await store.dig(this.#webhook, event.change);
    this.#window.done(event);
    this.#problem = null;
    observer.webhookDelivered(this.#webhook.name);
  }

  /** Sends one event at a time, with pauses: an endless or malformed response costs more than many good ones. */
  #slowDown(): void {
    this.#awayTimes = 1;
    this.#awayUntil = Math.max(this.#awayUntil, performance.now() + pauseAfterAbortMs);
  }

  /** Delays all deliveries while the receiver is away. The event is kept, because the failure does not concern it. */
  #stayAway(event: WindowEvent, problem: string, retryAfterMs: number | undefined): void {
    const now = performance.now();
    this.#problem = problem;
    // Concurrent failures count once.
    if (now >= this.#awayUntil) this.#awayTimes += 1;
    const delayMs = backoffMs(this.#awayTimes, retryAfterMs, Math.random());
    this.#awayUntil = Math.max(this.#awayUntil, now + delayMs);
    this.#window.again(event, this.#awayUntil);
    this.#options.observer.webhookFailed(this.#webhook.name, problem, delayMs);
  }

  async #refused(event: WindowEvent, problem: string, retryAfterMs: number | undefined): Promise<void> {
    const { observer, attempts } = this.#options;
    event.attempts += 1;
    this.#problem = problem;
    if (event.attempts >= attempts && event.isEnd !== true) return this.#giveUp(event, problem);
    const delayMs = backoffMs(event.attempts, retryAfterMs, Math.random());
    this.#window.again(event, performance.now() + delayMs);
    observer.webhookFailed(this.#webhook.name, problem, delayMs);
  }

  /** Stores the event, and those of its contract that wait behind it, as dead letters. */
  async #giveUp(event: WindowEvent, problem: string): Promise<void> {
    const blockedEvents = this.#window.takeBehind(event);
    const blockedLetters = blockedEvents.map((blocked) => deadLetterOf(blocked, blockedProblem));
    await this.#store([{ ...deadLetterOf(event, problem), replay: false }, ...blockedLetters]);
    this.#dead = new Set([...this.#dead, event.contract]);
    this.#window.buried(blockedEvents);
    this.#window.done(event);
    this.#options.observer.webhookFailed(this.#webhook.name, problem, undefined);
  }

  #isMoved(): boolean {
    return !isSame(this.#window.cursor, this.#noted);
  }

  #isNoteDue(now: number): boolean {
    return this.#isMoved() && now - this.#updatedAt >= saveIntervalMs;
  }

  /** Stores the cursor. @returns false if a command has changed the cursor */
  async #note(): Promise<boolean> {
    const { cursor } = this.#window;
    this.#updatedAt = performance.now();
    if (cursor === null || !this.#isMoved()) return true;
    if (!(await this.#options.store.move(this.#webhook, this.#noted, cursor))) return false;
    this.#noted = cursor;
    return true;
  }
}
