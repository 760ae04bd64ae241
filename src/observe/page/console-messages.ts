/**
 * JSON responses to the POST requests of the query page. A request is an object with one text; a request for the guide
 * is empty. Both sides are type-checked against these types.
 */

/** A prepared query of the page. */
export interface ReadyQuery {
  readonly title: string;
  readonly statement: string;
}

/** Response of `/query/guide`. */
export interface ConsoleGuide {
  /** With whose rights statements run. */
  readonly caller: ConsoleCallerName;
  readonly queries: readonly ReadyQuery[];
  /** Schema in which template and party names are looked up. */
  readonly explore: string;
  /** Statement timeout, seconds. */
  readonly maxSeconds: number;
}

/** A client on this machine without a token, the role of a reader token, or a user of the participant. */
export type ConsoleCallerName =
  { readonly kind: 'machine' } | { readonly kind: 'role' | 'user'; readonly name: string };

/**
 * Response of `/query`, of `/query/search`, whose columns are kind, name and active, and of `/query/views`, whose
 * columns are schema, name, comment and columns.
 */
export interface ConsoleRows {
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  /** Values in the text format of Postgres; an SQL null is null. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Whether these are all rows. */
  readonly complete: boolean;
  readonly milliseconds: number;
}

/** Response of `/query/explain`: lines in the format of the command. */
export interface ConsoleExplained {
  readonly text: string;
}

/** Error response of all these paths, with a status of 400 or above. */
export interface ConsoleFailure {
  readonly error: string;
  readonly code?: string;
  readonly remedy?: string;
}
