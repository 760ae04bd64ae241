/** Failures of the ledger and of what it sends. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const ledgerCodes = {
  LEDGER_UNREACHABLE: kind(
    'retry',
    ExitCode.unreachable,
    'port closed, unknown host, no route, or no answer in time',
    'check that the participant runs and that the ledger URL, DNS and firewall lead to its JSON API port',
  ),
  LEDGER_TLS: kind(
    'park',
    ExitCode.configuration,
    'the certificate is not trusted, or the port does not speak TLS',
    'check the server certificate, give its issuer as the CA file, and use https only towards a TLS port',
  ),
  LEDGER_UNAUTHENTICATED: kind(
    'refresh-token',
    ExitCode.notPermitted,
    'the participant refuses the token',
    'give a fresh token whose audience, issuer and lifetime the participant accepts; its log names the reason',
  ),
  LEDGER_PERMISSION_DENIED: kind(
    'park',
    ExitCode.notPermitted,
    'the user may not read as a party of the filter, or lacks the right for what was asked',
    'grant the user CanReadAs for every party in the filter, or CanReadAsAnyParty when no party is named',
  ),
  LEDGER_TOKEN_EXPIRED: kind(
    'refresh-token',
    ExitCode.notPermitted,
    'the token has expired',
    'nothing if this passes; otherwise check that the token file is renewed before its token expires',
  ),
  LEDGER_TOKEN_MALFORMED: kind(
    'park',
    ExitCode.configuration,
    'not a bare JWT',
    'give the bare JWT: base64url without padding, no "Bearer " in front, no quotes, no blanks',
  ),
  LEDGER_TOKEN_UNREADABLE: kind(
    'retry',
    ExitCode.configuration,
    'the token file is missing, empty or not readable',
    'check that the token file exists, is not empty and may be read by this process',
  ),
  LEDGER_TOKEN_INSECURE: kind(
    'fatal',
    ExitCode.configuration,
    'the token would travel in clear text',
    'use an https URL, or allow insecure transport explicitly if the network itself is trusted',
  ),
  LEDGER_TOKEN_PROVIDER_UNAVAILABLE: kind(
    'retry',
    ExitCode.unreachable,
    'the token provider is down, slow or answers something else',
    'nothing if this passes; otherwise check the address of the token provider, its health and its certificate',
  ),
  LEDGER_TOKEN_REFUSED: kind(
    'park',
    ExitCode.notPermitted,
    'the token provider refuses the client; the message names its reason',
    'check client id, client secret, scope and audience: the provider must allow this client the client_credentials grant',
  ),
  LEDGER_STALE_AUTHORIZATION: kind(
    'retry',
    ExitCode.temporary,
    'the rights of the user changed while the stream was open',
    'nothing: the rights of the user changed and the next connection uses the new ones',
  ),
  LEDGER_PRUNED: kind(
    'park',
    ExitCode.undecodable,
    'updates after our checkpoint are gone from the participant',
    'these updates are gone from the participant; an indexer that needs them goes on after: ' +
      'ledger-indexer reseed --yes',
  ),
  LEDGER_REASSIGNMENT_IN_FLIGHT: kind(
    'retry',
    ExitCode.temporary,
    'reassignments were in flight at the offset: the participant cannot show what was active there, although nothing is pruned',
    'nothing if this passes: a seed starts over at the ledger end. If it does not: seed while nothing is being reassigned; ' +
      'let `verify --acs` leave --at out, or compare later',
  ),
  // A replica that lags behind catches up within minutes; a ledger that was set back does not.
  LEDGER_OFFSET_AFTER_END: kind(
    'retry',
    ExitCode.temporary,
    'the ledger ends before the offset that was asked for',
    'nothing if a lagging replica answered; if the participant was restored or reset, the next connection says ' +
      'which command goes back to where both histories agree',
    { ms: 300_000 },
  ),
  LEDGER_FILTER_UNKNOWN: kind(
    'park',
    ExitCode.configuration,
    'the filter names a package, template or interface the ledger lacks',
    'upload the package, or correct the template and interface names in the filter',
  ),
  LEDGER_PACKAGE_UNKNOWN: kind(
    'park',
    ExitCode.undecodable,
    'the participant lacks the package of a contract and cannot print it',
    'upload the package of the contract to the participant: it cannot print the payload without it',
  ),
  LEDGER_REQUEST_INVALID: kind(
    'park',
    ExitCode.configuration,
    'the ledger refuses the request; the message says what it found',
    'correct what the message names (filter, arguments, ids); if all is right, report this with the trace id',
  ),
  LEDGER_API_DISABLED: kind(
    'park',
    ExitCode.configuration,
    'the release of the participant has disabled or removed the call, or fields of its request',
    'send what the release has instead (docs/reference/participant-releases.md lists what is gone); until 3.7 an operator of the participant can enable the ' +
      'call again: canton.participants.NAME.features.deprecated.enable-deprecated-endpoints-34, -parameters-34 or -endpoints-35',
  ),
  LEDGER_CONTINUATION_TOKEN_INVALID: kind(
    'retry',
    ExitCode.temporary,
    'the continuation token of a cut seed is of no use any more',
    'nothing: the token is dropped and the seed starts again',
  ),
  LEDGER_UNAVAILABLE: kind(
    'retry',
    ExitCode.temporary,
    'the participant is overloaded, starting, or refuses for now',
    'nothing if this passes; otherwise look at the load and the health of the participant',
  ),
  LEDGER_INTERNAL: kind(
    'retry',
    ExitCode.temporary,
    'the participant failed by itself',
    'look in the log of the participant under the trace id',
    { times: 20 },
  ),
  LEDGER_STREAM_CLOSED: kind(
    'retry',
    ExitCode.temporary,
    'the stream was closed, by the participant or something before it',
    'nothing if this passes; otherwise check proxies in between for idle time-outs below 60 s',
  ),
  // What gets on is not counted. What never does reads the whole list again each time.
  LEDGER_STREAM_TRUNCATED: kind(
    'retry',
    ExitCode.temporary,
    'a list or range was closed with code 1000 before its end, and is not published',
    'nothing if it gets on; otherwise a gateway between here and the participant closes streams early: look at what ' +
      'it allows a connection in time, bytes and messages',
    { times: 4 },
  ),
  SEED_UNVERIFIED: kind(
    'retry',
    ExitCode.temporary,
    'nobody can tell whether a list of active contracts is whole',
    'let gateways between here and the participant pass POST /v2/state/active-contracts: the end of a stream says ' +
      'nothing, for they close streams as well',
    { times: 4 },
  ),
  LEDGER_PING_TIMEOUT: kind(
    'retry',
    ExitCode.temporary,
    'a connection was open, and nothing came, not even answers to pings',
    'check the network path: the connection was open but not even pings were answered',
  ),
  LEDGER_FRAME_TOO_LARGE: kind(
    'park',
    ExitCode.undecodable,
    'the update after the offset named is larger than is accepted',
    'raise LEDGER_MAX_FRAME_BYTES, and the memory limit with it',
  ),
  // A frame may have been cut on its way; the same frame cut twice is what the ledger sends.
  LEDGER_UNDECODABLE: kind(
    'park',
    ExitCode.undecodable,
    'an answer or a frame is not what the ledger sends',
    'check proxies in between; if none alters the data, report this with the version of the participant',
    { times: 1 },
  ),
  LEDGER_NOT_A_LEDGER: kind(
    'park',
    ExitCode.configuration,
    'something answers at `LEDGER_URL`, but not the JSON Ledger API',
    'correct the ledger URL: host, JSON API port (not the gRPC port) and path prefix, if there is one',
    { times: 3 },
  ),
  LEDGER_OUT_OF_ORDER: kind(
    'retry',
    ExitCode.unexpected,
    'the ledger sent an offset again, or one before the last',
    'if it repeats, look for a proxy that merges connections to different participants',
    { times: 2 },
  ),
  LEDGER_BEHIND_CHECKPOINT: kind(
    'retry',
    ExitCode.configuration,
    'a lagging replica, or the participant was reset',
    'wait for the replica; after a reset the message says which command goes back',
    { ms: 300_000 },
  ),
} as const;
