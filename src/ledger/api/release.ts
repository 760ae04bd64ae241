/**
 * The release of a participant, as far as requests depend on it. It is read at the beginning of every session, because
 * a participant may be upgraded while the indexer runs.
 */
import type { ListSource } from '../../model/stream.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ErrorCode } from '../../errors/catalogue.ts';
import type { NodeCalls } from './node.ts';

/** A release that requests depend on, or that the docs name. */
export type ReleaseNumber = `${number}.${number}`;

export interface ParticipantRelease {
  /** As in `GET /v2/version`, e.g. `3.7.4`; undefined if it could not be read. */
  readonly version: string | undefined;
  /** Major and minor number; undefined if the version has another form. It then counts as older than any release. */
  readonly number: ReleaseNumber | undefined;
}

/** For a participant whose release was not read. */
export const unreadRelease: ParticipantRelease = { version: undefined, number: undefined };

/** Parses a version. A pre-release counts as its release, because it has the same interface. */
export function releaseOf(version: string): ParticipantRelease {
  const [, major, minorText] = /^v?(\d{1,4})\.(\d{1,4})(?![\d])/u.exec(version.trim()) ?? [];
  if (major === undefined || minorText === undefined) return { version, number: undefined };
  return { version, number: `${Number(major)}.${Number(minorText)}` };
}

function compare(a: ReleaseNumber, b: ReleaseNumber): number {
  const [[majorA = 0, minorA = 0], [majorB = 0, minorB = 0]] = [a.split('.').map(Number), b.split('.').map(Number)];
  return majorA === majorB ? minorA - minorB : majorA - majorB;
}

/** Whether the participant has this release or a later one; false if its release number is not known. */
export function isReleaseSince({ number }: ParticipantRelease, since: ReleaseNumber): boolean {
  return number !== undefined && compare(number, since) >= 0;
}

/** Since this release, a list of active contracts omits reassignments in flight unless the request includes them. */
export const inFlightOmittedSince: ReleaseNumber = '3.7';

/** Errors of a gateway that blocks the call, and of a participant that does not have it. */
const notServedCodes: ReadonlySet<ErrorCode> = new Set([
  'LEDGER_NOT_A_LEDGER',
  'LEDGER_PERMISSION_DENIED',
  'LEDGER_REQUEST_INVALID',
]);

/**
 * The current release of the participant; a version that cannot be read does not stop the indexer.
 * @throws IndexerError when the participant cannot be reached or queried at all
 */
export async function readRelease({
  node,
}: {
  readonly node: Pick<NodeCalls, 'version'>;
}): Promise<ParticipantRelease> {
  try {
    return releaseOf((await node.version()).version);
  } catch (thrown) {
    if (thrown instanceof IndexerError && notServedCodes.has(thrown.code)) return unreadRelease;
    throw thrown;
  }
}

// Stored facts about a list of active contracts, in addition to its offset.

export function listSourceOf(release: ParticipantRelease): ListSource {
  return { release: release.version ?? null, hasInFlight: release.number !== undefined };
}

/** Source of the list that a stream began with; null if it was stored by a version that did not record the source. */
export interface StoredSource {
  readonly seedRelease: string | null;
  readonly seedHasInFlight: boolean | null;
}

/**
 * Whether contracts may be missing that were in transit between synchronizers when the list was read. That is so if the
 * participant may have omitted them, and the request did not include them.
 */
export function mayLackInFlight({ seedRelease, seedHasInFlight }: StoredSource, now: ParticipantRelease): boolean {
  if (seedHasInFlight === true) return false;
  const releaseAtSeed = seedRelease === null ? unreadRelease : releaseOf(seedRelease);
  return isReleaseSince(releaseAtSeed.number === undefined ? now : releaseAtSeed, inFlightOmittedSince);
}
