/**
 * An endpoint is a row of the table that the router and the generated API descriptions use.
 */
import type { Caller, RequiredRight } from '../identity/caller.ts';
import type { Connection } from '../faults/connection.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Participant } from './participant.ts';
import { deprecatedDisabled } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';
import { isDisabled } from '../wire/release.ts';
import type { DeprecatedIn, Release } from '../wire/release.ts';

export interface Call {
  readonly participant: Participant;
  readonly caller: Caller;
  /** The JSON body; empty if the request has none. */
  readonly body: JsonObject;
  /** The body of a request that takes bytes; otherwise empty. */
  readonly bytes: Buffer;
  readonly query: URLSearchParams;
  /** The values of `{name}` in the path, percent-decoded. */
  readonly path: Readonly<Record<string, string>>;
}

/** Compact JSON text, or a response with its own content type and headers. The status is always 200. */
export type Answer =
  | string
  | {
      /** If empty, no content type is sent. */
      readonly type: string;
      readonly content: string | Buffer;
      readonly headers?: Readonly<Record<string, string>>;
    };

interface DescribedBody {
  /** E.g. `/v2/packages/{package-id}`. */
  readonly path: string;
  readonly summary: string;
  /** The first release that has the endpoint; absent if all known ones have it. */
  readonly since?: Release;
  /** The last release that has the endpoint. */
  readonly last?: Release;
  /** Release that deprecated the endpoint. 3.6 refuses it, 3.7 no longer has it. */
  readonly deprecatedIn?: DeprecatedIn;
  /** Names of the wire schemas, for the API description; absent if there is no JSON body. */
  readonly request?: string;
  readonly response?: string;
}

export interface Endpoint extends DescribedBody {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `bytes`: application/octet-stream. By default, GET and DELETE take no body. */
  readonly takes?: 'nothing' | 'json' | 'bytes';
  /** Paths of the keys that a JSON body must have to be decoded. */
  readonly wants?: readonly string[];
  readonly query?: readonly string[];
  /** `none`: served without a token. Absent: any authenticated user may call it; `run` checks further rights. */
  readonly needs?: 'none' | RequiredRight;
  run(call: Call): Answer | Promise<Answer>;
}

export interface StreamEndpoint extends DescribedBody {
  /** Serves a request on an accepted socket until the stream ends. A refusal becomes the last frame. */
  serve(connection: Connection, text: string, participant: Participant, caller: Caller): Promise<void>;
}

/** The refusal of an endpoint that the release has disabled; sent before any part of the request is read. */
export function disabledIn(release: Release, { path, deprecatedIn }: DescribedBody): LedgerFailure | undefined {
  if (deprecatedIn === undefined || !isDisabled(release)) return undefined;
  return deprecatedDisabled(`The endpoint ${path}`, deprecatedIn);
}
