/**
 * Descriptions of the routes of `/api`, and the port through which the HTTP server reads their rows. The parameter
 * check, the OpenAPI document and the reads all follow from the descriptions.
 */
import type { NodeRights } from './node-rights.ts';

/**
 * Kinds of columns. `number` has more digits than numbers in JSON programs, and is written as a text, as the ledger
 * does. `texts` and `numbers` are lists of texts.
 */
export type ApiColumnKind = 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'texts' | 'numbers' | 'json';

/**
 * Kinds of parameters. `position` is an offset or a time. `name` is a template or an interface, as functions of
 * `explore` accept it. `field` is a column or a field of a JSON column, with `-` in front for descending order.
 */
export type ApiParameterKind =
  'text' | 'party' | 'name' | 'offset' | 'position' | 'integer' | 'boolean' | 'choice' | 'filter' | 'field' | 'cursor';

export interface ApiParameter {
  readonly name: string;
  readonly kind: ApiParameterKind;
  /** One sentence. */
  readonly description: string;
  readonly inPath?: true;
  readonly required?: true;
  /** Values of a `choice`. */
  readonly values?: readonly string[];
  /** Bounds of an `integer`. */
  readonly range?: readonly [min: number, max: number];
  readonly fallback?: string | number | boolean;
  /** Parameters that must not be given together with this one. */
  readonly excludes?: readonly string[];
}

/** An offset, or a time with its zone. */
export type ApiPosition = { readonly offset: number } | { readonly time: string };

export type ApiValue = string | number | boolean | ApiPosition;

/** Checked values of parameters, by name. A parameter without a value is missing, unless it has a fallback. */
export type ApiArguments = Readonly<Record<string, ApiValue | undefined>>;

export interface ApiRoute {
  /** Unique; the `operationId` of the OpenAPI document, and a label of metrics. */
  readonly name: string;
  /** Path with parameters in braces, such as `/api/contracts/{contract_id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ApiParameter[];
  /** `rows`: a page of rows with these columns. `object`: fields of their own. */
  readonly answers: 'rows' | 'object';
  /** Columns of rows, or of the field `rows` of an object; empty if the rows have no fixed columns. */
  readonly columns: Readonly<Record<string, ApiColumnKind>>;
  /** Fields of an object, with a description of each. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Whose rights a read has. */
export interface ApiReader {
  /** Null for the login of the indexer, which reads everything. */
  readonly role: string | null;
  /** Set for users of the participant, whose parties are not those of the role. */
  readonly rights?: NodeRights | undefined;
}

/** Values of the order of the last row of a page, as texts. The next page begins after them. */
export type ApiKey = readonly (string | null)[];

export interface ApiRequest {
  readonly route: string;
  readonly arguments: ApiArguments;
  /** The page begins after this key; undefined for the first page. */
  readonly after: ApiKey | undefined;
  readonly reader: ApiReader;
}

/** An answer, true at one offset. Rows and fields are JSON texts, so that no digit is lost. */
export interface ApiAnswer {
  /** The checkpoint of the snapshot; null until the seed is complete. */
  readonly offset: number | null;
  /** The offset of an earlier state that the rows are from, if the request names one. */
  readonly stateAt?: number | undefined;
  readonly rows?: readonly string[];
  /** Set if there are more rows. */
  readonly next?: ApiKey | undefined;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Reads as the reader of the request. @throws IndexerError of the request, or STORE_ errors */
export type ReadApi = (request: ApiRequest) => Promise<ApiAnswer>;
