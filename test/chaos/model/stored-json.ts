/**
 * The JSON of a history as Postgres must store it. Contents have the form in which jsonb prints them, and all other
 * fields are as they were sent.
 */
import type { Client } from 'pg';
import { JsonNumber, JsonObject, parseJson, type Json as Tree } from '../../recordings/json.ts';
import { jsonText, RawJson, type Json } from '../history/json-text.ts';

/** Fields with values of ledger users, which are stored unchanged. */
const contentFields = new Set([
  'createArgument',
  'contractKey',
  'choiceArgument',
  'exerciseResult',
  'viewValue',
  'details',
]);
/**
 * A nesting depth that is larger than in real contracts, and smaller than a depth that overflows the stack of a server.
 */
const maxDepth = 500;

export class StoredJson {
  readonly #printed: ReadonlyMap<string, string>;

  private constructor(printedTexts: ReadonlyMap<string, string>) {
    this.#printed = printedTexts;
  }

  /** Postgres itself prints all values, so this file does not compute how it prints numbers and repeated keys. */
  static async of(client: Client, values: readonly Json[]): Promise<StoredJson> {
    const texts = [...new Set(values.flatMap((value) => [...contentsOf(value, '')]))].filter(isHeld);
    const { rows } = await client.query<{ printed: string }>(
      'select t::jsonb::text as printed from unnest($1::text[]) with ordinality u (t, place) order by place',
      [texts],
    );
    return new StoredJson(new Map(texts.map((text, index) => [text, rows[index]?.printed ?? ''])));
  }

  /** The value as readers must receive it. */
  tree(value: Json, name = ''): Tree {
    if (isContents(value, name)) return this.#content(jsonText(value));
    if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'bigint') return new JsonNumber(String(value));
    if (isList(value)) return value.map((element) => this.tree(element));
    return new JsonObject(new Map(Object.entries(value).map(([key, field]) => [key, this.tree(field as Json, key)])));
  }

  /** A complete message that is stored unchanged, in a column of type json, which does not reformat it. */
  kept(value: Json): Tree {
    const text = jsonText(value);
    return isHeld(text) ? parseJson(text) : escapedString(text);
  }

  #content(text: string): Tree {
    const printedText = this.#printed.get(text);
    return printedText === undefined ? escapedString(text) : parseJson(printedText);
  }
}

function isContents(value: Json, name: string): boolean {
  return value !== null && (value instanceof RawJson || contentFields.has(name));
}

function* contentsOf(value: Json, name: string): Generator<string> {
  if (isContents(value, name)) yield jsonText(value);
  else if (value !== null && typeof value === 'object') {
    for (const [key, field] of Object.entries(value)) yield* contentsOf(field as Json, key);
  }
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** A value that jsonb cannot store: it is stored as text, under its own key. */
function escapedString(text: string): Tree {
  return new JsonObject(new Map([['$escaped', text]]));
}

/** Whether Postgres can store the text as JSON: no NUL, no half of a surrogate pair, no extreme nesting. */
function isHeld(text: string): boolean {
  return isHeldValue(JSON.parse(text), 1);
}

function isHeldValue(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return !value.includes('\u0000') && value.isWellFormed();
  if (value === null || typeof value !== 'object') return true;
  if (depth > maxDepth) return false;
  return Object.entries(value).every(
    ([key, field]) => (Array.isArray(value) || isHeldValue(key, depth)) && isHeldValue(field, depth + 1),
  );
}
