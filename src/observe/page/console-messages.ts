/**
 * What the query page is answered, in JSON, to what it asks by POST: an object with one text, or none for the guide. Both sides
 * are checked against this.
 */

/** A question that the page has ready. */
export interface ReadyQuery {
  readonly title: string;
  readonly statement: string;
}

/** Of `/query/guide`. */
export interface ConsoleGuide {
  readonly queries: readonly ReadyQuery[];
  /** Schema that template and party names are looked up in. */
  readonly explore: string;
  /** Of one statement, seconds. */
  readonly maxSeconds: number;
}

/** Of `/query`, and of `/query/search`, whose columns are kind, name and active. */
export interface ConsoleRows {
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  /** Values as Postgres writes them; null is null. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Whether these are all rows. */
  readonly complete: boolean;
  readonly milliseconds: number;
}

/** Of `/query/explain`: lines as the command prints them. */
export interface ConsoleExplained {
  readonly text: string;
}

/** Of any of them, with a status that is none of success. */
export interface ConsoleFailure {
  readonly error: string;
  readonly code?: string;
  readonly remedy?: string;
}
