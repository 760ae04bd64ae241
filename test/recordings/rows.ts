/** Rows by relation and key, and a reader of messages that tells which of their fields nobody has asked for. */
import { countLeaves, JsonNumber, JsonObject, leavesOf, type Json } from './json.ts';

export type Row = Readonly<Record<string, Json>>;

/** The columns that tell the rows of a relation apart, all texts, numbers or null. */
export function keyOf(row: Row, columns: readonly string[]): string {
  return columns.map((column) => [...leavesOf(row[column] ?? null)].map(([, text]) => text).join()).join(' ');
}

export class Rows {
  readonly #relations = new Map<string, Row[]>();

  add(relation: string, row: Row): void {
    const rows = this.#relations.get(relation);
    if (rows === undefined) this.#relations.set(relation, [row]);
    else rows.push(row);
  }

  of(relation: string): readonly Row[] {
    return this.#relations.get(relation) ?? [];
  }
}

/** What became of the leaves of the frames. */
export class Tally {
  /** Leaves for which a place in a row was found. */
  leaves = 0;
  /** Paths of those that nobody asked for. */
  readonly unplaced: string[] = [];
}

/** One JSON object of a frame. Every field has to be taken. */
export class Message {
  readonly #json: JsonObject;
  readonly #tally: Tally;
  readonly #unread: Set<string>;

  private constructor(json: JsonObject, tally: Tally) {
    this.#json = json;
    this.#tally = tally;
    this.#unread = new Set(json.fields.keys());
  }

  /** Reads an object; what `use` has not taken is noted under `where`. */
  static read<T>(json: Json | undefined, tally: Tally, where: string, use: (message: Message) => T): T {
    if (!(json instanceof JsonObject)) throw new Error(`${where}: expected an object`);
    const message = new Message(json, tally);
    const result = use(message);
    for (const name of message.#unread) tally.unplaced.push(`${where}.${name}`);
    return result;
  }

  /** A value that is compared as a whole; null where the field is missing. */
  take(name: string): Json {
    const value = this.#json.fields.get(name);
    if (this.#unread.delete(name)) this.#tally.leaves += countLeaves(value);
    return value ?? null;
  }

  /** A value of which the interface makes no difference between empty and missing. */
  optional(name: string): Json {
    const value = this.take(name);
    return value === '' || (Array.isArray(value) && value.length === 0) ? null : value;
  }

  time(name: string): Json {
    const value = this.take(name);
    return typeof value === 'string' ? postgresTime(value) : value;
  }

  /** A value that is looked into; an empty one counts as the leaf it is. */
  inside(name: string): Json {
    const value = this.#json.fields.get(name);
    const empty = value === null || (Array.isArray(value) && value.length === 0);
    if (this.#unread.delete(name) && empty) this.#tally.leaves += 1;
    return value ?? null;
  }

  /** What is of no interest by itself, because the message is kept as a whole. */
  rest(): void {
    this.#unread.clear();
  }

  list(name: string): readonly Json[] {
    return (this.inside(name) ?? []) as readonly Json[];
  }
}

export const integer = (value: number): JsonNumber => new JsonNumber(String(value));

/** A time as Postgres writes it in JSON, in UTC: without zeros at the end of the fraction. */
export function postgresTime(instant: string): string {
  const [whole = '', fraction = ''] = instant.slice(0, -1).split('.');
  const digits = fraction.replace(/0+$/, '');
  return `${whole}${digits === '' ? '' : `.${digits}`}+00:00`;
}
