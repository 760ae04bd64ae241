/** Checks of the releases of participant and Postgres: deprecated and removed calls, and end of maintenance. */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { deprecatedCalls, disabledIn, removalRelease } from '../../ledger/api/deprecated-calls.ts';
import { tokenClaims } from '../../ledger/access/token-claims.ts';
import {
  isReleaseSince,
  mayLackInFlight,
  inFlightOmittedSince,
  readRelease,
  releaseOf,
  type ParticipantRelease,
  type StoredSource,
} from '../../ledger/api/release.ts';
import type { LedgerView } from './ledger-checks.ts';
import { type Check, fail, type Finding, pass, skip, warn } from './outcome.ts';

export function releaseCheck(view: LedgerView): Check {
  return { name: 'release', after: ['ledger'], run: async () => checkRelease(view, await readRelease(view.client)) };
}

const deprecationSummary = `${String(deprecatedCalls.length)} calls and the fields filter and verbose are deprecated`;

async function checkRelease(view: LedgerView, release: ParticipantRelease): Promise<Finding> {
  const { version = 'none' } = release;
  if (release.number === undefined) {
    return warn(
      `the version "${version}" has an unknown format: requests are sent as to releases before ${inFlightOmittedSince}, whose lists ` +
        'contain reassignments in flight by default',
      'allow GET /v2/version in gateways on the way to the participant',
    );
  }
  if (!isReleaseSince(release, removalRelease)) {
    const state = isReleaseSince(release, disabledIn)
      ? `${deprecationSummary}, rejected unless the participant enables them`
      : `${deprecationSummary}, rejected from release ${disabledIn}`;
    return pass(`${version}: ${state}, and removed in ${removalRelease}; the indexer uses none of them`);
  }
  return checkNewestRelease(view, version);
}

/** The finding about what release 3.7 and later require of the configuration. */
async function checkNewestRelease({ client, access }: LedgerView, version: string): Promise<Finding> {
  const token = await access.tokenSource.read();
  const claims = token === undefined ? undefined : tokenClaims(token);
  if (claims !== undefined && claims.audience.length === 0) {
    return fail(
      `${version}: tokens without an audience are rejected, and the configured token has none`,
      'let the provider put https://daml.com/jwt/aud/participant/PARTICIPANT_ID, or the target-audience of the participant, ' +
        'into "aud": with LEDGER_OAUTH_*, request it with LEDGER_OAUTH_AUDIENCE',
    );
  }
  const removalNote = `${version}: previously deprecated calls are removed; the indexer uses none of them`;
  const hasInFlightApi = await hasInFlightInOpenApi(client);
  if (hasInFlightApi === false) {
    return warn(
      `${removalNote}; but its API description of active contracts lacks the field that requests reassignments in flight`,
      'run `ledger-indexer verify --acs` after reassignments, and report this with the version of the participant',
    );
  }
  return pass(`${removalNote}; reassignments in flight are requested with active contracts`);
}

/**
 * Whether the API description of the participant mentions reassignments in flight. Undefined if the participant does
 * not describe this request.
 */
async function hasInFlightInOpenApi({ node }: LedgerView['client']): Promise<boolean | undefined> {
  const text = await node.openapi().catch((thrown: unknown) => {
    if (toIndexerError(thrown).code === 'LEDGER_UNREACHABLE') throw thrown;
    return '';
  });
  if (!text.includes('activeAtOffset')) return undefined;
  return text.includes('includeIncompleteReassignments');
}

/**
 * The finding about contracts in reassignment: whether they may be missing from the list of active contracts that the
 * stream began with.
 */
export async function checkSeedRelease({ client }: LedgerView, source: StoredSource): Promise<Finding> {
  const release = await readRelease(client);
  const { seedRelease } = source;
  const from = seedRelease === null ? 'an unrecorded release' : `release ${releaseOf(seedRelease).version ?? ''}`;
  if (!mayLackInFlight(source, release))
    return pass(`the active contracts came from ${from}, with reassignments in flight`);
  return warn(
    `the active contracts came from ${from}, without reassignments in flight: contracts may be missing`,
    'run ledger-indexer verify --acs; if it reports missing contracts, run ledger-indexer reseed --yes',
  );
}

/** The last day on which the Postgres project maintains a major version. */
const maintainedUntil: Readonly<Record<number, string>> = {
  14: '2026-11-12',
  15: '2027-11-11',
  16: '2028-11-09',
  17: '2029-11-08',
  18: '2030-11-14',
};

/** @param version version as the server reports it, e.g. `16.4 (Debian 16.4-1)` */
export function checkPostgresVersion(version: string, now: number): Finding {
  const major = Number(/^\d+/u.exec(version)?.[0]);
  const last = maintainedUntil[major];
  if (last === undefined) return skip(`Postgres ${version}: this indexer version does not know its end-of-life date`);
  const maintenanceNote = `Postgres ${String(major)} is maintained until ${last}`;
  if (now <= Date.parse(`${last}T23:59:59Z`)) return pass(maintenanceNote);
  return warn(
    `${maintenanceNote}: it no longer gets fixes`,
    'upgrade the server to a maintained major version, preferably 17 or newer',
  );
}
