/** Checks of the participant: identity, connection, token, and rights for the configured filter. */
import { type LedgerAccess, openAccess } from '../../ledger/open-access.ts';
import type { Config, LedgerConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { createLedgerClient, type LedgerClient } from '../../ledger/api/client.ts';
import type { Right } from '../../ledger/api/users.ts';
import { type Check, fail, type Finding, pass, skip, warn } from './outcome.ts';
import { checkFilterNames } from './filter-check.ts';
import { span, tokenClaims, type TokenClaims } from '../../ledger/access/token-claims.ts';
import { openFrameStream, type StreamPath } from '../../ledger/transport/frame-stream.ts';
import { findKnownInterfaces } from '../../ledger/api/known-interfaces.ts';
import { unknownPartySentence, maxPartyLookups, unknownParties } from '../../ledger/api/unknown-parties.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import { releaseCheck } from './release-checks.ts';
import { interfacesNamed } from '../../config/interface-presets.ts';
import { assertTokenConfidential } from '../../ledger/access/token.ts';

/** The participant as seen by the checks. Each value is requested only once. */
export interface LedgerView {
  readonly config: Config;
  readonly url: string;
  readonly client: LedgerClient;
  readonly access: LedgerAccess;
  readonly end: () => Promise<number>;
  readonly pruned: () => Promise<number>;
  readonly participantId: () => Promise<string>;
  readonly signal: AbortSignal;
}

/** @throws IndexerError if certificates cannot be read, or if the token must not be sent to this URL */
export async function openLedger(
  config: Config,
  url: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<LedgerView> {
  const { ledger } = config;
  const access = await openAccess(ledger, signal);
  const { tls, tokenSource } = access;
  const { insecure, maxFrameBytes: maxResponseBytes } = ledger;
  const limits = { maxAnswerBytes: maxResponseBytes, requestTimeoutMs: limitMs };
  const client = createLedgerClient({ url, tokenSource, tls, insecure, ...limits, signal });
  return {
    config,
    url,
    client,
    access,
    signal,
    end: cached(() => client.state.ledgerEnd()),
    pruned: cached(() => client.state.latestPrunedOffsets()),
    participantId: cached(() => client.parties.participantId()),
  };
}

function cached<T>(load: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  return () => (pending ??= load());
}

/** The checks in the order of the output. */
export function ledgerChecks(view: LedgerView): readonly Check[] {
  const { client, end, pruned, participantId } = view;
  const after = ['ledger', 'ledger end'];
  return [
    tokenCheck(view),
    {
      name: 'ledger',
      run: async () => pass(`${view.url} is release ${(await client.node.version()).version}`),
    },
    releaseCheck(view),
    {
      name: 'ledger end',
      after: ['ledger'],
      run: async () => pass(`${String(await end())}, pruned up to ${String(await pruned())}`),
    },
    {
      name: 'participant id',
      after,
      excused: {
        LEDGER_PERMISSION_DENIED:
          'this user may not read it (ParticipantAdmin): ledgers are distinguished by their history alone',
      },
      run: async () => pass(await participantId()),
    },
    { name: 'user rights', after, run: () => rights(view) },
    {
      name: 'parties',
      after,
      excused: { LEDGER_PERMISSION_DENIED: 'this user may not list parties (ParticipantAdmin): see "user rights"' },
      run: () => checkParties(view),
    },
    websocketCheck(view),
    completionsCheck(view),
    {
      name: 'filter',
      after,
      excused: { LEDGER_NOT_A_LEDGER: 'releases before 3.5 do not list vetted packages: see "websocket"' },
      run: () => checkFilterNames(view),
    },
    { name: 'ledger clock', after, run: () => clock(client) },
  ];
}

async function rights({ client, access, config }: LedgerView): Promise<Finding> {
  if ((await access.tokenSource.read()) === undefined) return skip('no token is configured, so there is no user');
  const user = await client.users.authenticated().catch((thrown: unknown) => {
    if (isWithoutUser(thrown)) return undefined;
    throw thrown;
  });
  if (user === undefined) return skip('the participant has no authorization: it ignores tokens, so there is no user');
  if (user.isDeactivated === true)
    return fail(`user ${user.id} is deactivated`, 'activate the user on the participant');
  return checkRights(user.id, await client.users.rights(user.id), config.ledger);
}

/** A participant without authorization reads no user from a token that it is sent. */
function isWithoutUser(thrown: unknown): boolean {
  return thrown instanceof IndexerError && thrown.facts['ledgerCode'] === 'INVALID_TOKEN';
}

function checkRights(user: string, grantedRights: readonly Right[], { parties }: LedgerConfig): Finding {
  const kinds = grantedRights.flatMap(({ kind }) => kind ?? []);
  const anyParty = kinds.some((kind) => kind.CanReadAsAnyParty ?? kind.CanActAsAnyParty);
  if (anyParty) return pass(`user ${user} may read as any party`);
  if (parties.length === 0) {
    return fail(
      `user ${user} lacks CanReadAsAnyParty, which an empty LEDGER_PARTIES needs`,
      grant(user, [], kinds.length),
    );
  }
  const readableParties = new Set(kinds.flatMap((kind) => (kind.CanReadAs ?? kind.CanActAs)?.value.party ?? []));
  const missingParties = parties.filter((party) => !readableParties.has(party));
  if (missingParties.length === 0) return pass(`user ${user} may read as each of ${String(parties.length)} parties`);
  return fail(`user ${user} may not read as ${missingParties.join(', ')}`, grant(user, missingParties, kinds.length));
}

/** Text of the request with which an administrator of the participant grants the rights. */
function grant(user: string, parties: readonly string[], grantedCount: number): string {
  const kinds =
    parties.length === 0
      ? [{ kind: { CanReadAsAnyParty: { value: {} } } }]
      : parties.map((party) => ({ kind: { CanReadAs: { value: { party } } } }));
  const body = JSON.stringify({ userId: user, identityProviderId: '', rights: kinds });
  const path = `/v2/users/${encodeURIComponent(user)}/rights`;
  return `let an administrator send POST ${path} with ${body} (the user has ${String(grantedCount)} rights now)`;
}

/**
 * Checks whether the participant knows the parties. The participant may learn of a party later, but until then it
 * returns no data for that party.
 */
async function checkParties({ client, config }: LedgerView): Promise<Finding> {
  const { parties } = config.ledger;
  if (parties.length === 0) return pass('all parties that the token may read: LEDGER_PARTIES is empty');
  const unknownPartyList = await unknownParties(client, parties);
  const subset = parties.length > maxPartyLookups ? `the first ${String(maxPartyLookups)} of ` : '';
  if (unknownPartyList.length === 0)
    return pass(`the participant knows each of ${subset}${String(parties.length)} parties`);
  return warn(
    unknownPartyList.map(unknownPartySentence).join('; '),
    'correct LEDGER_PARTIES; no action needed if the parties will be allocated later',
  );
}

const tolerableSkewMs = 10_000;

async function clock(client: LedgerClient): Promise<Finding> {
  const requestedAt = Date.now();
  const { headers } = await client.transport.requestBytes('GET', '/v2/version');
  const date = Date.parse(headers.date ?? '');
  if (Number.isNaN(date)) return skip('the responses of the ledger or of a proxy have no Date header');
  return checkClock('the ledger', date, requestedAt, Date.now());
}

/**
 * Compares two clocks with a precision of one second. The other clock was read between `fromMs` and `toMs` of our
 * clock.
 */
export function checkClock(clockOwner: string, otherClockMs: number, fromMs: number, toMs: number): Finding {
  // The Date header has no fractions of a second.
  const skewMs =
    otherClockMs > toMs ? otherClockMs - toMs : otherClockMs + 1_000 < fromMs ? otherClockMs + 1_000 - fromMs : 0;
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
  const message = `the clock of ${clockOwner} is ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} the clock of this machine`;
  if (Math.abs(skewMs) <= tolerableSkewMs)
    return pass(skewMs === 0 ? `the clock of ${clockOwner} agrees with the clock of this machine` : message);
  return fail(
    message,
    'synchronize both clocks with NTP: otherwise tokens are rejected and delays are wrong by this amount',
  );
}

// Checks the token: its source, its claims and its validity. The token itself is never printed.

/** Reads the token from its source, as the indexer does. */
function tokenCheck({ access, config }: LedgerView): Check {
  return {
    name: 'token',
    run: async () => {
      const token = await access.tokenSource.read();
      if (token === undefined) return skip('no token is configured: only a ledger without authorization accepts this');
      return checkTokenClaims(tokenClaims(token), sourceOf(config.ledger), Date.now() / 1000);
    },
  };
}

function sourceOf({ oauth, tokenFile }: LedgerConfig): string {
  if (oauth !== undefined) return oauth.issuer ?? oauth.tokenUrl ?? 'the token provider';
  return tokenFile === undefined ? 'LEDGER_TOKEN' : 'LEDGER_TOKEN_FILE';
}

function checkTokenClaims(claims: TokenClaims | undefined, source: string, now: number): Finding {
  if (claims === undefined) return pass(`from ${source}; not a JWT, so its claims are unknown`);
  const { subject, issuer, audience, scope, notBefore, issuedAt, expiresAt } = claims;
  const summary = [
    `from ${source}`,
    `user ${subject ?? 'not named'}`,
    `audience ${audience.length === 0 ? 'none' : audience.join(' ')}`,
    ...(scope === undefined ? [] : [`scope ${scope}`]),
    ...(issuer === undefined ? [] : [`issuer ${issuer}`]),
  ].join(', ');
  if (expiresAt !== undefined && expiresAt <= now) {
    return fail(`${summary}; expired ${time(expiresAt)}, ${span(now - expiresAt)} ago`, renewal(source));
  }
  const validFrom = Math.max(notBefore ?? 0, issuedAt ?? 0);
  // Issuers and participants commonly tolerate this difference between clocks.
  if (validFrom > now + 60)
    return fail(
      `${summary}; not good before ${time(validFrom)}`,
      'synchronize the clocks of this machine and the issuer with NTP',
    );
  if (subject === undefined) return fail(summary, 'use a token whose "sub" names a user of the participant');
  const clockWarning =
    validFrom > now + 1
      ? `; the clock of its issuer is ${span(validFrom - now)} ahead of the clock of this machine`
      : '';
  const message = `${summary}${clockWarning}; ${expiresAt === undefined ? 'never expires' : `expires in ${span(expiresAt - now)}`}`;
  if (audience.length > 0) return pass(message);
  return warn(
    `${message}; participants from release 3.7 reject a token without an audience`,
    'let the provider put https://daml.com/jwt/aud/participant/PARTICIPANT_ID, or the target-audience of the participant, ' +
      'into "aud": with LEDGER_OAUTH_*, request it with LEDGER_OAUTH_AUDIENCE',
  );
}

function renewal(source: string): string {
  if (source === 'LEDGER_TOKEN')
    return 'provide a new token; for short-lived tokens use LEDGER_TOKEN_FILE or LEDGER_OAUTH_*';
  return source === 'LEDGER_TOKEN_FILE'
    ? 'check why the file is not renewed before its token expires'
    : 'check the clock of the provider';
}

/** If the year is out of range, the number of seconds is not a valid date. */
function time(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? 'at an invalid time' : date.toISOString();
}

// Checks whether a WebSocket passes through all proxies, and whether the participant accepts the filter.

/**
 * Milliseconds. If the participant rejects the filter or the user, a frame follows the handshake. If no frame arrives
 * within this time, both were accepted.
 */
const quietMs = 700;

/** Opens the update stream at the ledger end with the configured filter, and closes it again. */
function websocketCheck(view: LedgerView): Check {
  return { name: 'websocket', after: ['ledger', 'ledger end'], run: () => listen(view) };
}

async function listen(view: LedgerView): Promise<Finding> {
  const { ledger } = view.config;
  const offset = await view.end();
  const interfaces = await findKnownInterfaces(view.client, ledger, interfacesNamed(ledger.wantedInterfaces), offset);
  const request = updatesRequest(offset, { ...ledger, interfaces });
  return checkStream(view, {
    path: '/v2/updates',
    request,
    found: 'opened at the ledger end with the configured filter',
  });
}

/** Opens the completion stream. A failure is only a warning, because only completions need this stream. */
function completionsCheck(view: LedgerView): Check {
  return {
    name: 'completions',
    after: ['ledger', 'ledger end'],
    excused: {
      LEDGER_NOT_A_LEDGER:
        'before release 3.5.7, the participant returns completions only to the submitting user: they are not indexed',
      LEDGER_PERMISSION_DENIED: 'the user may not read completions of the configured parties: they are not indexed',
    },
    run: async () => {
      if (view.config.indexer.completions === 'off') return skip('INDEXER_COMPLETIONS=off');
      const request = { parties: view.config.ledger.parties, beginExclusive: await view.end() };
      const message = 'opened at the ledger end: completions of commands are indexed';
      return checkStream(view, { path: '/v2/commands/command-completions', request, found: message });
    },
  };
}

interface StreamCheck {
  readonly path: StreamPath;
  readonly request: object;
  /** The finding that is reported if the stream opens. */
  readonly found: string;
}

async function checkStream(view: LedgerView, { path, request, found: message }: StreamCheck): Promise<Finding> {
  const { config, url, access, signal } = view;
  const { ledger, indexer } = config;
  const token = await access.tokenSource.read();
  assertTokenConfidential(url, token, ledger.insecure);
  return new Promise((resolve, reject) => {
    let isOpen = false;
    const onAccepted = (): void => {
      resolve(pass(`${path} ${message}`));
      stream.close();
    };
    const stream = openFrameStream({
      url,
      path,
      request,
      token,
      tls: access.tls,
      tokenPlacement: ledger.tokenPlacement,
      pingIntervalMs: indexer.pingIntervalMs,
      maxPayloadBytes: ledger.maxFrameBytes,
      signal,
      onOpen: () => {
        isOpen = true;
        setTimeout(onAccepted, quietMs);
      },
      onFrame: onAccepted,
      onEnd: (error) => {
        if (error !== undefined) reject(error);
        else if (isOpen)
          resolve({ state: 'fail', found: 'the stream was closed immediately, without a reason', fix: proxies });
      },
    });
  });
}

const proxies =
  'check proxies on the way to the participant: they have to pass "Upgrade: websocket" and must not buffer';
