/** Error codes of the ledger and of the data it sends. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const ledgerCodes = {
  LEDGER_UNREACHABLE: kind(
    'retry',
    ExitCode.unreachable,
    'port closed, unknown host, no route, or no response in time',
    'check that the participant runs and that ledger URL, DNS and firewall lead to its JSON API port',
  ),
  LEDGER_TLS: kind(
    'park',
    ExitCode.configuration,
    'the certificate is not trusted, or the port does not speak TLS',
    'check the server certificate, set its issuer as the CA file, and use https only for a TLS port',
  ),
  LEDGER_UNAUTHENTICATED: kind(
    'refresh-token',
    ExitCode.notPermitted,
    'the participant rejects the token',
    'provide a new token whose audience, issuer and lifetime the participant accepts; its log contains the reason',
  ),
  LEDGER_PERMISSION_DENIED: kind(
    'park',
    ExitCode.notPermitted,
    'the user may not read as a party of the filter, or lacks the right for the request',
    'grant the user CanReadAs for every party in the filter, or CanReadAsAnyParty if the filter names no party',
  ),
  LEDGER_TOKEN_EXPIRED: kind(
    'refresh-token',
    ExitCode.notPermitted,
    'the token has expired',
    'no action needed if it recovers; otherwise check that the token file is renewed before its token expires',
  ),
  LEDGER_TOKEN_MALFORMED: kind(
    'park',
    ExitCode.configuration,
    'not a bare JWT',
    'provide the bare JWT: base64url without padding, without "Bearer ", quotes or blanks',
  ),
  LEDGER_TOKEN_UNREADABLE: kind(
    'retry',
    ExitCode.configuration,
    'the token file is missing, empty or not readable',
    'check that the token file exists, is not empty and is readable by this process',
  ),
  LEDGER_TOKEN_INSECURE: kind(
    'fatal',
    ExitCode.configuration,
    'the token would be sent in clear text',
    'use an https URL, or allow insecure transport explicitly if the network is trusted',
  ),
  LEDGER_TOKEN_PROVIDER_UNAVAILABLE: kind(
    'retry',
    ExitCode.unreachable,
    'the token provider is down, slow or returns an unexpected response',
    'no action needed if it recovers; otherwise check the address, health and certificate of the token provider',
  ),
  LEDGER_TOKEN_REFUSED: kind(
    'park',
    ExitCode.notPermitted,
    'the token provider rejects the client; the message contains its reason',
    'check client id, client secret or key, scope and audience: the provider must allow this client the client_credentials grant',
  ),
  LEDGER_STALE_AUTHORIZATION: kind(
    'retry',
    ExitCode.temporary,
    'the rights of the user changed while the stream was open',
    'no action needed: the next connection uses the new rights',
  ),
  LEDGER_PRUNED: kind(
    'park',
    ExitCode.undecodable,
    'the participant has pruned updates after the checkpoint',
    'run `ledger-indexer reseed --yes` to continue without these updates: the participant no longer has them',
  ),
  LEDGER_REASSIGNMENT_IN_FLIGHT: kind(
    'retry',
    ExitCode.temporary,
    'reassignments were in flight at the offset: the participant cannot return the active contracts there, although nothing is pruned',
    'no action needed if it recovers: the seed restarts at the ledger end. Otherwise, seed while no reassignment is in flight; ' +
      'run `ledger-indexer verify --acs` without --at, or later',
  ),
  // A replica that is behind catches up within minutes; a ledger that was reset does not.
  LEDGER_OFFSET_AFTER_END: kind(
    'retry',
    ExitCode.temporary,
    'the ledger ends before the requested offset',
    'no action needed if a lagging replica responded; if the participant was restored or reset, run the command that the next ' +
      'connection reports: it resets the schema to the last common offset',
    { ms: 300_000 },
  ),
  LEDGER_FILTER_UNKNOWN: kind(
    'park',
    ExitCode.configuration,
    'the filter names a package, template or interface that the ledger does not have',
    'upload the package, or correct the template and interface names in the filter',
  ),
  LEDGER_PACKAGE_UNKNOWN: kind(
    'park',
    ExitCode.undecodable,
    'the participant does not have the package of a contract and cannot return its payload',
    'upload the package of the contract to the participant',
  ),
  LEDGER_REQUEST_INVALID: kind(
    'park',
    ExitCode.configuration,
    'the ledger rejects the request; the message contains its reason',
    'correct the filter, arguments or ids in the message; if they are correct, report this with the trace id',
  ),
  LEDGER_API_DISABLED: kind(
    'park',
    ExitCode.configuration,
    'the release of the participant has disabled or removed the endpoint, or fields of its request',
    'use the replacement of that release (docs/reference/participant-releases.md lists removed endpoints); until 3.7 an operator of the participant can enable the ' +
      'endpoint again: canton.participants.NAME.features.deprecated.enable-deprecated-endpoints-34, -parameters-34 or -endpoints-35',
  ),
  LEDGER_CONTINUATION_TOKEN_INVALID: kind(
    'retry',
    ExitCode.temporary,
    'the continuation token of an interrupted seed is no longer valid',
    'no action needed: the token is dropped and the seed starts again',
  ),
  LEDGER_UNAVAILABLE: kind(
    'retry',
    ExitCode.temporary,
    'the participant is overloaded, starting or temporarily rejects requests',
    'no action needed if it recovers; otherwise check the load and health of the participant',
  ),
  LEDGER_INTERNAL: kind(
    'retry',
    ExitCode.temporary,
    'internal error of the participant',
    'search the log of the participant for the trace id',
    { times: 20 },
  ),
  LEDGER_STREAM_CLOSED: kind(
    'retry',
    ExitCode.temporary,
    'the stream was closed by the participant or a proxy',
    'no action needed if it recovers; otherwise check proxies on the way for idle timeouts below 60 s',
  ),
  // Attempts with progress are not counted. An attempt without progress reads the complete list again.
  LEDGER_STREAM_TRUNCATED: kind(
    'retry',
    ExitCode.temporary,
    'a list or range was closed with code 1000 before its end; nothing of it is published',
    "no action needed while it progresses; otherwise raise the gateway's limits on connection time, bytes and messages: it closes streams early",
    { times: 4 },
  ),
  SEED_UNVERIFIED: kind(
    'retry',
    ExitCode.temporary,
    'a list of active contracts cannot be verified as complete',
    'allow POST /v2/state/active-contracts in gateways on the way to the participant: the end of the stream proves nothing, ' +
      'because gateways close streams too',
    { times: 4 },
  ),
  LEDGER_PING_TIMEOUT: kind(
    'retry',
    ExitCode.temporary,
    'the connection was open, but neither data nor responses to pings arrived',
    'check the network path to the participant',
  ),
  LEDGER_FRAME_TOO_LARGE: kind(
    'park',
    ExitCode.undecodable,
    'the update after the given offset is larger than LEDGER_MAX_FRAME_BYTES',
    'raise LEDGER_MAX_FRAME_BYTES, and the memory limit accordingly',
  ),
  // A frame may be truncated once on its way. If the same frame is truncated twice, the ledger sends it that way.
  LEDGER_UNDECODABLE: kind(
    'park',
    ExitCode.undecodable,
    'a response or frame is not in the format of the ledger',
    'check proxies on the way; if none alters the data, report this with the version of the participant',
    { times: 1 },
  ),
  LEDGER_NOT_A_LEDGER: kind(
    'park',
    ExitCode.configuration,
    'the server at `LEDGER_URL` is not a JSON Ledger API',
    'correct the ledger URL: host, JSON API port (not the gRPC port) and path prefix, if there is one',
    { times: 3 },
  ),
  LEDGER_OUT_OF_ORDER: kind(
    'retry',
    ExitCode.unexpected,
    'the ledger repeated an offset, or sent an earlier one',
    'if it repeats, check for a proxy that merges connections to different participants',
    { times: 2 },
  ),
  LEDGER_BEHIND_CHECKPOINT: kind(
    'retry',
    ExitCode.configuration,
    'the ledger end is before the checkpoint: a lagging replica, or the participant was reset',
    'wait for the replica; after a reset, run the command in the message',
    { ms: 300_000 },
  ),
} as const;
