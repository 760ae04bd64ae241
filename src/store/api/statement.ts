/** Builds one statement: texts of this program, and values as parameters. */
import { escapeIdentifier } from 'pg';

export class Statement {
  readonly #explore: string;
  readonly values: unknown[] = [];

  /** @param explore name of the schema of the views */
  constructor(explore: string) {
    this.#explore = escapeIdentifier(explore);
  }

  /** Adds a parameter with this type. @returns its SQL */
  value(value: unknown, type: string): string {
    this.values.push(value);
    return `$${String(this.values.length)}::${type}`;
  }

  /** Appends the values of a part that was compiled for this position. @returns its text */
  append({ text, values }: { readonly text: string; readonly values: readonly unknown[] }): string {
    this.values.push(...values);
    return text;
  }

  /** SQL: a view or function of schema `explore`. */
  explore(name: string): string {
    return `${this.#explore}.${escapeIdentifier(name)}`;
  }
}
