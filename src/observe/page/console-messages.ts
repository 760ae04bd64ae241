/**
 * Responses to the POST requests of the query page, in JSON; a request is an object with one text, or without any for the guide. Both sides
 * are type-checked against this.
 */

/** A prepared query of the page. */
export interface ReadyQuery {
  readonly title: string;
  readonly statement: string;
}

/** Response of `/query/guide`. */
export interface ConsoleGuide {
  readonly queries: readonly ReadyQuery[];
  /** Schema used to look up template and party names. */
  readonly explore: string;
  /** Time limit of one statement, seconds. */
  readonly maxSeconds: number;
}

/** Response of `/query`, and of `/query/search`, whose columns are kind, name and active. */
export interface ConsoleRows {
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  /** Values in the text format of Postgres; null is null. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Whether these are all rows. */
  readonly complete: boolean;
  readonly milliseconds: number;
}

/** Response of `/query/explain`: lines as the command prints them. */
export interface ConsoleExplained {
  readonly text: string;
}

/** Error response of all of them, with a status of 400 or above. */
export interface ConsoleFailure {
  readonly error: string;
  readonly code?: string;
  readonly remedy?: string;
}
