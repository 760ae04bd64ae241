/**
 * Events of one webhook between its cursor and the last event read. Each event is sent after the earlier ones of its
 * contract were accepted. A failing event delays only its contract, until the window is full. Pure: time and outcomes
 * are passed in.
 */
import { formatCursor, type Change, type ChangeCursor } from '../model/push/changes.ts';

export interface WindowEvent {
  readonly change: Change;
  readonly id: string;
  /**
   * Contract id; empty for an event without a contract. Events without a contract keep their order, as if they had the
   * same one.
   */
  readonly contract: string;
  readonly body: string;
  /** Whether it is a dead letter that was requested again. Its position is before the cursor. */
  readonly isLetter: boolean;
  /** Whether it reports that the webhook ends. */
  readonly isEnd?: boolean;
  /** Number of times that it was sent and not accepted. */
  attempts: number;
  isDone: boolean;
}

interface DelayedEvent {
  readonly event: WindowEvent;
  readonly until: number;
}

export class DeliveryWindow {
  /** In the order of history, without dead letters. */
  #events: WindowEvent[] = [];
  readonly #lanes = new Map<string, WindowEvent[]>();
  /** Events that are due and are the first ones of their lanes. */
  #ready: WindowEvent[] = [];
  #delayed: DelayedEvent[] = [];
  #characters = 0;
  #size = 0;
  /** Positions of the loaded dead letters. */
  readonly #letters = new Set<string>();
  /** Everything before this position was read. */
  #readTo: ChangeCursor | null;
  #cursor: ChangeCursor | null;

  /** @param cursor of the webhook; null if no events were read yet */
  constructor(cursor: ChangeCursor | null) {
    this.#cursor = cursor;
    this.#readTo = cursor;
  }

  /** All events up to this position are done. */
  get cursor(): ChangeCursor | null {
    return this.#cursor;
  }

  get readTo(): ChangeCursor | null {
    return this.#readTo;
  }

  /** Number of events that are not done, or that the cursor has not passed. */
  get size(): number {
    return this.#size;
  }

  /** Total length of the bodies of the loaded events, in characters. */
  get characters(): number {
    return this.#characters;
  }

  /** Adds events that come after all loaded ones. @param readCursor position at which the next events begin */
  add(events: readonly WindowEvent[], readCursor: ChangeCursor): void {
    this.#readTo = readCursor;
    for (const event of events) {
      this.#events.push(event);
      if (!event.isDone) this.#enter(event);
      this.#grow(event);
    }
    this.#pass();
  }

  /** Adds dead letters that were requested again, in the order of history. */
  addLetters(deadLetters: readonly WindowEvent[]): void {
    for (const deadLetter of deadLetters) {
      this.#enter(deadLetter);
      this.#grow(deadLetter);
    }
  }

  /** The next event to be sent. It is in progress until `done` or `again` is called. */
  take(now: number): WindowEvent | undefined {
    const isDue = ({ until: dueAt }: DelayedEvent): boolean => dueAt <= now;
    if (this.#delayed.some(isDue)) {
      this.#ready.push(...this.#delayed.filter(isDue).map(({ event }) => event));
      this.#delayed = this.#delayed.filter((delayedEvent) => !isDue(delayedEvent));
    }
    return this.#ready.shift();
  }

  /** Time at which the next delayed event is due; Infinity if there is none. */
  nextDue(): number {
    return this.#delayed.reduce((next, { until: dueAt }) => Math.min(next, dueAt), Infinity);
  }

  /** Whether the dead letter at this position is loaded. */
  hasLetter(position: ChangeCursor): boolean {
    return this.#letters.has(formatCursor(position));
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  /**
   * Called when the receiver accepted the event, or it was stored as a dead letter. The next event of its contract may
   * be sent.
   */
  done(event: WindowEvent): void {
    event.isDone = true;
    const lane = this.#lanes.get(event.contract);
    lane?.shift();
    const [next] = lane ?? [];
    if (next === undefined) this.#lanes.delete(event.contract);
    else this.#ready.push(next);
    if (event.isLetter) this.#shrink(event);
    this.#pass();
  }

  /** Called when the event has to be sent again. No other event of its contract is sent before. */
  again(event: WindowEvent, dueAt: number): void {
    this.#delayed.push({ event, until: dueAt });
  }

  /** Removes and returns the waiting events of a contract, except the first one, which is in progress. */
  takeBehind(event: WindowEvent): readonly WindowEvent[] {
    return this.#lanes.get(event.contract)?.splice(1) ?? [];
  }

  /** Called when these events were stored as dead letters. */
  buried(events: readonly WindowEvent[]): void {
    for (const event of events) {
      event.isDone = true;
      if (event.isLetter) this.#shrink(event);
    }
    this.#pass();
  }

  #enter(event: WindowEvent): void {
    const lane = this.#lanes.get(event.contract);
    if (lane !== undefined) lane.push(event);
    else {
      this.#lanes.set(event.contract, [event]);
      this.#ready.push(event);
    }
  }

  #pass(): void {
    const first = this.#events.findIndex(({ isDone }) => !isDone);
    const settledEvents = first === -1 ? this.#events : this.#events.slice(0, first);
    for (const event of settledEvents) this.#shrink(event);
    this.#events = first === -1 ? [] : this.#events.slice(first);
    const last = settledEvents.at(-1)?.change;
    if (first === -1) this.#cursor = this.#readTo;
    else if (last !== undefined) this.#cursor = { offset: last.offset, node: last.node };
  }

  #grow({ change, body, isLetter }: WindowEvent): void {
    this.#characters += body.length;
    this.#size += 1;
    if (isLetter) this.#letters.add(formatCursor(change));
  }

  #shrink({ change, body, isLetter }: WindowEvent): void {
    this.#characters -= body.length;
    this.#size -= 1;
    if (isLetter) this.#letters.delete(formatCursor(change));
  }
}
