/** A row of the table of identity providers: the behavior of a provider, and the required reaction of the indexer. */
import type { TokenSource } from '../../../src/ledger/access/token.ts';
import type { StoppedClock } from '../../support/chance/clock.ts';
import type { Behavior, Provider } from './providers.ts';

export interface RowRun {
  readonly provider: Provider;
  readonly source: TokenSource;
  /** `LEDGER_OAUTH_CLIENT_SECRET_FILE`, or `LEDGER_OAUTH_CLIENT_KEY_FILE` if the row has a key. */
  readonly credentialFile: string;
  /** A clock that advances only when the token source pauses. */
  readonly clock: StoppedClock;
}

interface RowOptions {
  readonly audience?: string;
  readonly scope?: string;
  readonly issuerSlash?: boolean;
  /** PEM or JWK of the client, instead of its secret. */
  readonly key?: string;
  readonly keyId?: string;
}

export interface ProviderRow {
  /** The behavior of the provider; the first cell of the table in docs/how-to/run/access-tokens.md. */
  readonly provider: string;
  /** The reaction of the indexer; the second cell. */
  readonly indexer: string;
  readonly behavior: Behavior;
  readonly options?: RowOptions;
  readonly expected: ExpectedToken | ExpectedFailure;
}

export interface ExpectedToken {
  /** Number of requests to the token endpoint until a token is issued. */
  readonly requests: number;
  /** Lifetime of the token; `unknown` if neither the provider nor the token contains one. */
  readonly lifeSeconds?: number | 'unknown';
  readonly after?: (run: RowRun) => Promise<void>;
}

export interface ExpectedFailure {
  readonly code: 'LEDGER_TOKEN_REFUSED' | 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE';
  readonly message: RegExp;
  readonly retryAfterSeconds?: number;
  readonly after?: (run: RowRun) => Promise<void>;
}

/** The indexer parks, because an operator must change something. */
export function parkedFailure(message: RegExp, check?: ExpectedFailure['after']): ExpectedFailure {
  return { code: 'LEDGER_TOKEN_REFUSED', message, ...(check === undefined ? {} : { after: check }) };
}

/** The indexer retries automatically. */
export function retries(message: RegExp, retryAfterSeconds?: number): ExpectedFailure {
  const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  return { code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE', message, ...retryAfter };
}
