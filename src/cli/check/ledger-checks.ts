/** Checks of the participant: who it is, whether it talks to us, and whether we may read what is configured. */
import { openAccess } from '../../access.ts';
import type { Config, LedgerConfig } from '../../config/config.ts';
import { createLedgerClient, type LedgerClient } from '../../ledger/api/client.ts';
import type { LedgerView } from './ledger-view.ts';
import { tokenCheck } from './token-check.ts';
import type { Right } from '../../ledger/api/users.ts';
import { fail, pass, skip, type Check, type Finding } from './outcome.ts';
import { websocketCheck } from './websocket-check.ts';

/** @throws IndexerError when certificates cannot be read, or the token may not travel to this URL */
export async function openLedger(
  config: Config,
  url: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<LedgerView> {
  const { ledger } = config;
  const access = await openAccess(ledger, signal);
  const { tls, tokenSource } = access;
  const { insecure } = ledger;
  const client = createLedgerClient({ url, tokenSource, tls, insecure, requestTimeoutMs: limitMs, signal });
  return {
    config,
    url,
    client,
    access,
    signal,
    end: once(() => client.state.ledgerEnd()),
    pruned: once(() => client.state.latestPrunedOffsets()),
    participantId: once(() => client.parties.participantId()),
  };
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => (answer ??= ask());
}

/** In the order in which they are shown. */
export function ledgerChecks(view: LedgerView): readonly Check[] {
  const { client, end, pruned, participantId } = view;
  const after = ['ledger', 'ledger end'];
  return [
    tokenCheck(view),
    {
      name: 'ledger',
      run: async () => pass(`${view.url} answers as release ${(await client.node.version()).version}`),
    },
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
          'this user may not ask for it (ParticipantAdmin): the history alone tells ledgers apart',
      },
      run: async () => pass(await participantId()),
    },
    { name: 'user rights', after, run: () => rights(view) },
    websocketCheck(view),
    {
      name: 'filter',
      after,
      excused: { LEDGER_NOT_A_LEDGER: 'releases before 3.5 do not list vetted packages: see "websocket"' },
      run: () => filterKnown(view),
    },
    { name: 'ledger clock', after, run: () => clock(client) },
  ];
}

async function rights({ client, access, config }: LedgerView): Promise<Finding> {
  if ((await access.tokenSource.read()) === undefined) return skip('no token is configured, so no user');
  const user = await client.users.authenticated();
  if (user.isDeactivated === true) return fail(`user ${user.id} is deactivated`, 'activate it at the participant');
  return judged(user.id, await client.users.rights(user.id), config.ledger);
}

function judged(user: string, granted: readonly Right[], { parties }: LedgerConfig): Finding {
  const kinds = granted.flatMap(({ kind }) => kind ?? []);
  const anyParty = kinds.some((kind) => kind.CanReadAsAnyParty ?? kind.CanActAsAnyParty);
  if (anyParty) return pass(`user ${user} may read as any party`);
  if (parties.length === 0) {
    return fail(
      `user ${user} lacks CanReadAsAnyParty, which LEDGER_PARTIES without parties needs`,
      grant(user, [], kinds.length),
    );
  }
  const readable = new Set(kinds.flatMap((kind) => (kind.CanReadAs ?? kind.CanActAs)?.value.party ?? []));
  const missing = parties.filter((party) => !readable.has(party));
  if (missing.length === 0) return pass(`user ${user} may read as each of ${String(parties.length)} parties`);
  return fail(`user ${user} may not read as ${missing.join(', ')}`, grant(user, missing, kinds.length));
}

/** The call that an administrator of the participant makes. */
function grant(user: string, parties: readonly string[], held: number): string {
  const kinds =
    parties.length === 0
      ? [{ kind: { CanReadAsAnyParty: { value: {} } } }]
      : parties.map((party) => ({ kind: { CanReadAs: { value: { party } } } }));
  const body = JSON.stringify({ userId: user, identityProviderId: '', rights: kinds });
  const path = `/v2/users/${encodeURIComponent(user)}/rights`;
  return `let an administrator send POST ${path} with ${body} (it holds ${String(held)} rights now)`;
}

/** Whether some vetted package has the name that each template and interface is written with. */
async function filterKnown({ client, config }: LedgerView): Promise<Finding> {
  const { templates, interfaces } = config.ledger;
  const names = new Set([...templates, ...interfaces].map((id) => id.slice(1, id.indexOf(':'))));
  if (names.size === 0) return pass('every template: none is named in LEDGER_TEMPLATES or LEDGER_INTERFACES');
  const vetted = new Set<string>();
  let pageToken: string | undefined;
  do {
    const filter = { packageMetadataFilter: { packageNamePrefixes: [...names] } };
    const page = await client.packages.vetted(pageToken === undefined ? filter : { ...filter, pageToken });
    for (const { packages } of page.vettedPackages) {
      for (const { packageName } of packages ?? []) vetted.add(packageName ?? '');
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  const unknown = [...names].filter((name) => !vetted.has(name));
  if (unknown.length === 0)
    return pass(`${String(names.size)} package names, all vetted; modules and entities: see "websocket"`);
  return fail(
    `no vetted package is called ${unknown.join(', ')}`,
    'upload it (ledger-indexer ledger upload-dar FILE), or correct LEDGER_TEMPLATES and LEDGER_INTERFACES',
  );
}

const tolerableSkewMs = 10_000;

async function clock(client: LedgerClient): Promise<Finding> {
  const askedAt = Date.now();
  const { headers } = await client.transport.requestBytes('GET', '/v2/version');
  const date = Date.parse(headers.date ?? '');
  if (Number.isNaN(date)) return skip('the answers of the ledger, or of a proxy before it, carry no Date');
  return judgeClock('the ledger', date, askedAt, Date.now());
}

/** Of two clocks, where one was read between `fromMs` and `toMs` of the other, to the second. */
export function judgeClock(whose: string, theirsMs: number, fromMs: number, toMs: number): Finding {
  // A Date header is cut off at the second.
  const skewMs = theirsMs > toMs ? theirsMs - toMs : theirsMs + 1_000 < fromMs ? theirsMs + 1_000 - fromMs : 0;
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
  const found = `the clock of ${whose} is ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} ours`;
  if (Math.abs(skewMs) <= tolerableSkewMs) return pass(skewMs === 0 ? `the clock of ${whose} agrees with ours` : found);
  return fail(found, 'set both clocks by NTP: tokens are refused, and delays are wrong by as much');
}
