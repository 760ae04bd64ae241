/**
 * The ledger's failures as the rest of the program knows them: one row per code with what to do about it. Every
 * IndexerError of src/ledger is built here, so that class, exit code and remedy of a code never drift apart.
 */
import { ExitCode, IndexerError, type RetryClass } from '../errors.ts';

interface Verdict {
  readonly retry: RetryClass;
  readonly exitCode: ExitCode;
  readonly remedy: string;
}

const verdicts = {
  LEDGER_UNREACHABLE: {
    retry: 'retry',
    exitCode: ExitCode.unreachable,
    remedy: 'check that the participant runs and that the ledger URL, DNS and firewall lead to its JSON API port',
  },
  LEDGER_TLS: {
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy: 'check the server certificate, give its issuer as the CA file, and use https only towards a TLS port',
  },
  LEDGER_UNAUTHENTICATED: {
    retry: 'refresh-token',
    exitCode: ExitCode.notPermitted,
    remedy: 'give a fresh token whose audience, issuer and lifetime the participant accepts; its log names the reason',
  },
  LEDGER_PERMISSION_DENIED: {
    retry: 'park',
    exitCode: ExitCode.notPermitted,
    remedy: 'grant the user CanReadAs for every party in the filter, or CanReadAsAnyParty when no party is named',
  },
  LEDGER_TOKEN_EXPIRED: {
    retry: 'refresh-token',
    exitCode: ExitCode.notPermitted,
    remedy: 'nothing if this passes; otherwise check that the token file is renewed before its token expires',
  },
  LEDGER_TOKEN_MALFORMED: {
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy: 'give the bare JWT: base64url without padding, no "Bearer " in front, no quotes, no blanks',
  },
  LEDGER_TOKEN_UNREADABLE: {
    retry: 'retry',
    exitCode: ExitCode.configuration,
    remedy: 'check that the token file exists, is not empty and may be read by this process',
  },
  LEDGER_TOKEN_INSECURE: {
    retry: 'fatal',
    exitCode: ExitCode.configuration,
    remedy: 'use an https URL, or allow insecure transport explicitly if the network itself is trusted',
  },
  LEDGER_TOKEN_PROVIDER_UNAVAILABLE: {
    retry: 'retry',
    exitCode: ExitCode.unreachable,
    remedy: 'nothing if this passes; otherwise check the address of the token provider, its health and its certificate',
  },
  LEDGER_TOKEN_REFUSED: {
    retry: 'park',
    exitCode: ExitCode.notPermitted,
    remedy:
      'check client id, client secret, scope and audience: the provider must allow this client the client_credentials grant',
  },
  LEDGER_STALE_AUTHORIZATION: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy: 'nothing: the rights of the user changed and the next connection uses the new ones',
  },
  LEDGER_PRUNED: {
    retry: 'park',
    exitCode: ExitCode.undecodable,
    remedy:
      'these updates are gone from the participant; an indexer that needs them goes on after: ' +
      'ledger-indexer reseed --keep-history --yes',
  },
  LEDGER_OFFSET_AFTER_END: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy:
      'nothing if a lagging replica answered; if the participant was restored or reset, the next connection says ' +
      'which command goes back to where both histories agree',
  },
  LEDGER_FILTER_UNKNOWN: {
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy: 'upload the package, or correct the template and interface names in the filter',
  },
  LEDGER_PACKAGE_UNKNOWN: {
    retry: 'park',
    exitCode: ExitCode.undecodable,
    remedy: 'upload the package of the contract to the participant: it cannot print the payload without it',
  },
  LEDGER_REQUEST_INVALID: {
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy: 'correct what the message names (filter, arguments, ids); if all is right, report this with the trace id',
  },
  LEDGER_CONTINUATION_TOKEN_INVALID: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy: 'nothing: the token is dropped and the seed starts again',
  },
  LEDGER_UNAVAILABLE: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy: 'nothing if this passes; otherwise look at the load and the health of the participant',
  },
  LEDGER_INTERNAL: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy: 'look in the log of the participant under the trace id',
  },
  LEDGER_STREAM_CLOSED: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy: 'nothing if this passes; otherwise check proxies in between for idle time-outs below 60 s',
  },
  LEDGER_CUT_SHORT: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy:
      'nothing if it gets on; otherwise a gateway between here and the participant closes streams early: look at what ' +
      'it allows a connection in time, bytes and messages',
  },
  LEDGER_LIST_UNPROVEN: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy:
      'let gateways between here and the participant pass POST /v2/state/active-contracts: the end of a stream says ' +
      'nothing, for they close streams as well',
  },
  LEDGER_SILENT: {
    retry: 'retry',
    exitCode: ExitCode.temporary,
    remedy: 'check the network path: the connection was open but not even pings were answered',
  },
  LEDGER_FRAME_TOO_LARGE: {
    retry: 'park',
    exitCode: ExitCode.undecodable,
    remedy: 'raise LEDGER_MAX_FRAME, and the memory limit with it',
  },
  LEDGER_UNDECODABLE: {
    retry: 'park',
    exitCode: ExitCode.undecodable,
    remedy: 'check proxies in between; if none alters the data, report this with the version of the participant',
  },
  LEDGER_NOT_A_LEDGER: {
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy: 'correct the ledger URL: host, JSON API port (not the gRPC port) and path prefix, if there is one',
  },
} satisfies Record<string, Verdict>;

export type LedgerErrorCode = keyof typeof verdicts;

export interface LedgerErrorDetails {
  readonly cause?: unknown;
  readonly facts?: Readonly<Record<string, string | number | boolean>>;
  /** Replaces the class of the table, for the few codes whose class depends on where they happen. */
  readonly retry?: RetryClass;
  readonly exitCode?: ExitCode;
  /** Replaces the remedy of the table where more is known than the code says. */
  readonly remedy?: string;
}

/** An IndexerError with the class, exit code and remedy that belong to the code. */
export function ledgerError(code: LedgerErrorCode, message: string, details: LedgerErrorDetails = {}): IndexerError {
  return new IndexerError(message, { code, ...verdicts[code], ...details });
}
