/** Rows by relation and key, and a message reader that reports unread fields. */
import { countLeaves, JsonNumber, JsonObject, leavesOf, type Json } from './json.ts';

export type Row = Readonly<Record<string, Json>>;

/** The values of the columns that identify a row of a relation, as one text. */
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

/** Counts of leaves in the frames. */
export class LeafTally {
  /** Number of leaves that are in a row. */
  leaves = 0;
  /** Paths of unread fields. */
  readonly unplaced: string[] = [];
}

/** One JSON object of a frame. Every field must be read. */
export class Message {
  readonly #json: JsonObject;
  readonly #tally: LeafTally;
  readonly #unread: Set<string>;

  private constructor(json: JsonObject, leafTally: LeafTally) {
    this.#json = json;
    this.#tally = leafTally;
    this.#unread = new Set(json.fields.keys());
  }

  /** Reads an object. Fields that `use` does not read are recorded under `messageName`. */
  static read<T>(
    json: Json | undefined,
    leafTally: LeafTally,
    messageName: string,
    readMessage: (message: Message) => T,
  ): T {
    if (!(json instanceof JsonObject)) throw new Error(`${messageName}: expected an object`);
    const message = new Message(json, leafTally);
    const result = readMessage(message);
    for (const name of message.#unread) leafTally.unplaced.push(`${messageName}.${name}`);
    return result;
  }

  /** Reads a value that is compared as one leaf; null if the field is missing. */
  take(name: string): Json {
    const value = this.#json.fields.get(name);
    if (this.#unread.delete(name)) this.#tally.leaves += countLeaves(value);
    return value ?? null;
  }

  /** Reads a value that may be missing or empty, between which the interface does not distinguish. */
  optional(name: string): Json {
    const value = this.take(name);
    return value === '' || (Array.isArray(value) && value.length === 0) ? null : value;
  }

  time(name: string): Json {
    const value = this.take(name);
    return typeof value === 'string' ? postgresTime(value) : value;
  }

  /** Reads a value with parts that are read separately. An empty value counts as a leaf. */
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

/** A time in UTC as Postgres prints it in JSON, without trailing zeros in the fraction. */
export function postgresTime(instant: string): string {
  const [integerPart = '', fraction = ''] = instant.slice(0, -1).split('.');
  const digits = fraction.replace(/0+$/, '');
  return `${integerPart}${digits === '' ? '' : `.${digits}`}+00:00`;
}
