/**
 * Events of one webhook between its cursor and the last one read, each sent when the earlier ones of its contract were
 * accepted. A failing event delays its contract, and no other one until the window is full. Pure: time and outcomes are
 * passed in.
 */
import { formatCursor, type Change, type ChangeCursor } from '../model/push/changes.ts';

export interface WindowEvent {
  readonly change: Change;
  readonly id: string;
  /** Empty for an event of no contract: those keep their order as if they were of one. */
  readonly contract: string;
  readonly body: string;
  /** A dead letter that was requested again: it lies before the cursor. */
  readonly isLetter: boolean;
  /** Times it was sent and not accepted. */
  attempts: number;
  isDone: boolean;
}

interface Delayed {
  readonly event: WindowEvent;
  readonly until: number;
}

export class DeliveryWindow {
  /** In the order of history; without letters. */
  #events: WindowEvent[] = [];
  readonly #lanes = new Map<string, WindowEvent[]>();
  /** First of their lanes, and due. */
  #ready: WindowEvent[] = [];
  #delayed: Delayed[] = [];
  #bytes = 0;
  #size = 0;
  /** Their positions. */
  readonly #letters = new Set<string>();
  /** Everything before it was read. */
  #readTo: ChangeCursor | null;
  #cursor: ChangeCursor | null;

  /** @param cursor of the webhook; null: no events were read yet */
  constructor(cursor: ChangeCursor | null) {
    this.#cursor = cursor;
    this.#readTo = cursor;
  }

  /** Everything up to this position is done. */
  get cursor(): ChangeCursor | null {
    return this.#cursor;
  }

  get readTo(): ChangeCursor | null {
    return this.#readTo;
  }

  /** Events that are not done, or not passed by the cursor. */
  get size(): number {
    return this.#size;
  }

  /** Characters of their bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Events that come after all loaded ones; and where the next ones begin. */
  add(events: readonly WindowEvent[], readTo: ChangeCursor): void {
    this.#readTo = readTo;
    for (const event of events) {
      this.#events.push(event);
      if (!event.isDone) this.#enter(event);
      this.#grow(event);
    }
    this.#pass();
  }

  /** Letters that were requested again, in the order of history. */
  addLetters(letters: readonly WindowEvent[]): void {
    for (const letter of letters) {
      this.#enter(letter);
      this.#grow(letter);
    }
  }

  /** The next event to be sent; it is under way until `done` or `again` is called. */
  take(now: number): WindowEvent | undefined {
    const isDue = ({ until }: Delayed): boolean => until <= now;
    if (this.#delayed.some(isDue)) {
      this.#ready.push(...this.#delayed.filter(isDue).map(({ event }) => event));
      this.#delayed = this.#delayed.filter((one) => !isDue(one));
    }
    return this.#ready.shift();
  }

  /** When the next delayed event is due; Infinity: there is none. */
  nextDue(): number {
    return this.#delayed.reduce((next, { until }) => Math.min(next, until), Infinity);
  }

  /** Whether the letter of this position is loaded. */
  hasLetter(position: ChangeCursor): boolean {
    return this.#letters.has(formatCursor(position));
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  /** Accepted by the receiver, or stored as a dead letter: the next of its contract may be sent. */
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

  /** It is to be sent again, and nothing of its contract before. */
  again(event: WindowEvent, until: number): void {
    this.#delayed.push({ event, until });
  }

  /** Removes and returns all waiting events of a contract but the first one, unless they are under way. */
  takeBehind(event: WindowEvent): readonly WindowEvent[] {
    return this.#lanes.get(event.contract)?.splice(1) ?? [];
  }

  /** They were stored as dead letters. */
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
    const passed = first === -1 ? this.#events : this.#events.slice(0, first);
    for (const event of passed) this.#shrink(event);
    this.#events = first === -1 ? [] : this.#events.slice(first);
    const last = passed.at(-1)?.change;
    if (first === -1) this.#cursor = this.#readTo;
    else if (last !== undefined) this.#cursor = { offset: last.offset, node: last.node };
  }

  #grow({ change, body, isLetter }: WindowEvent): void {
    this.#bytes += body.length;
    this.#size += 1;
    if (isLetter) this.#letters.add(formatCursor(change));
  }

  #shrink({ change, body, isLetter }: WindowEvent): void {
    this.#bytes -= body.length;
    this.#size -= 1;
    if (isLetter) this.#letters.delete(formatCursor(change));
  }
}
