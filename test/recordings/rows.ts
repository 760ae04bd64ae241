/** Rows by relation and key, and a reader of messages that reports which of their fields were not read. */
import { countLeaves, JsonNumber, JsonObject, leavesOf, type Json } from './json.ts';

export type Row = Readonly<Record<string, Json>>;

/** The columns that identify a row of a relation, all texts, numbers or null. */
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

/** Counts of the leaves of the frames. */
export class Tally {
  /** Leaves that were found in a row. */
  leaves = 0;
  /** Paths of fields that were not read. */
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

  /** A value that is compared as one leaf; null if the field is missing. */
  take(name: string): Json {
    const value = this.#json.fields.get(name);
    if (this.#unread.delete(name)) this.#tally.leaves += countLeaves(value);
    return value ?? null;
  }

  /** A value for which the interface does not distinguish empty and missing. */
  optional(name: string): Json {
    const value = this.take(name);
    return value === '' || (Array.isArray(value) && value.length === 0) ? null : value;
  }

  time(name: string): Json {
    const value = this.take(name);
    return typeof value === 'string' ? postgresTime(value) : value;
  }

  /** A value whose parts are read; an empty one counts as a leaf. */
  inside(name: string): Json {
    const value = this.#json.fields.get(name);
    const empty = value === null || (Array.isArray(value) && value.length === 0);
    if (this.#unread.delete(name) && empty) this.#tally.leaves += 1;
    return value ?? null;
  }

  /** Skips the other fields, because the complete message is stored. */
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
