/**
 * Connects, and verifies that this is still the indexed ledger. Participant, filter and the update id at the checkpoint
 * are compared before anything is appended. Offsets alone prove nothing, because a restored participant uses them
 * again. If a participant returns its id only to administrators, only the update id is compared.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import { mayLackInFlight } from '../../ledger/api/release.ts';
import type { StreamIdentity, StreamState, RequestedInterface } from '../../model/stream.ts';
import { withParticipantOffsets } from '../participant/with-participant-offsets.ts';
import { verifyHistory } from './history-proof.ts';
import { filterInForce, outdatedOptions } from './filter-in-force.ts';
import { sessionRelease } from './session-release.ts';
import { interfacesInForce, withInterfaces } from './interfaces.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { WriterSession } from '../ports/sink.ts';
import type { LedgerReads } from '../ports/source.ts';

export interface Connected {
  readonly session: WriterSession;
  /** The parts with the filter of this session. Offsets are those of the stream. */
  readonly parts: PipelineParts;
  /** The interfaces as stored in the sink. */
  readonly interfaces: readonly RequestedInterface[];
  readonly ledgerEnd: number;
  readonly pruned: number;
  /** Time at which the ledger returned `ledgerEnd` and `pruned`, on the monotonic clock, in milliseconds. */
  readonly requestedAt: number;
}

/**
 * Opens a session. `isInterfaceRefused` is true if the participant has refused an interface that the stream requests.
 */
export async function connect(
  configuredParts: PipelineParts,
  { isInterfaceRefused }: { readonly isInterfaceRefused: boolean },
): Promise<Connected> {
  const { ledger, sink } = configuredParts;
  // The checkpoint is read first, because it is displayed for as long as the ledger does not respond.
  const storedCheckpoint = await sink.marks.checkpoint();
  if (storedCheckpoint !== null) configuredParts.observers.stream.storedFound(storedCheckpoint);
  const release = await sessionRelease(configuredParts);
  const configuredIdentity = await fetchLedgerIdentity(configuredParts);
  const { identity, parts: allParts } = filterInForce(
    configuredParts,
    configuredIdentity,
    await sink.filterExtension.filter(),
  );
  const { participantId } = identity;
  const bounds = { end: await ledger.state.ledgerEnd(), pruned: await ledger.state.latestPrunedOffsets() };
  const requestedAt = performance.now();
  const session = await sink.openSession(identity);
  const { filterReplaced: difference } = session.state;
  if (difference !== undefined) configuredParts.observers.filterExtension.changed({ kind: 'replaced', difference });
  // Only the session knows whether the stream was switched, and how the offsets of the participant are translated.
  const translatedParts = { ...withParticipantOffsets(allParts, session.state.participantRange), release };
  const ledgerEnd = translatedParts.participantOffsets?.toStreamOffset(bounds.end) ?? bounds.end;
  const pruned = Math.max(0, translatedParts.participantOffsets?.toStreamOffset(bounds.pruned) ?? bounds.pruned);
  const interfaces = await interfacesInForce(translatedParts, session, { ledgerEnd, isInterfaceRefused });
  const followedIds = interfaces.filter(({ state }) => state === 'followed').map(({ id }) => id);
  const parts = withInterfaces(translatedParts, followedIds);
  parts.observers.polls.ledgerEnd(ledgerEnd);
  parts.observers.polls.pruned(pruned);
  const isSameParticipant = participantId !== undefined && session.state.participantId === participantId;
  await verifyHistory(parts, session.state, { ledgerEnd, pruned, sameParticipant: isSameParticipant });
  // The id is not stored earlier, because the id of a participant whose history is not verified must not become part of
  // this stream.
  if (participantId !== undefined) await session.noteParticipant(participantId);
  parts.observers.filterExtension.changed({ kind: 'options', behind: outdatedOptions(configuredIdentity, identity) });
  reportRelease(parts, session.state);
  const { checkpoint } = session.state;
  parts.observers.stream.sessionOpened(participantId, checkpoint);
  if (checkpoint !== null) parts.commits.reached(checkpoint);
  return { session, parts, interfaces, ledgerEnd, pruned, requestedAt };
}

function reportRelease({ observers, release }: PipelineParts, state: StreamState): void {
  const { seeded, seedOffset, seedRelease } = state;
  const isMissingInFlight = seeded && seedOffset !== null && mayLackInFlight(state, release);
  const missingInFlight = isMissingInFlight ? { seedRelease, offset: seedOffset } : undefined;
  observers.release.found({
    kind: 'read',
    version: release.version,
    isKnown: release.number !== undefined,
    lacking: missingInFlight,
  });
}

/** Identity of a stream of this ledger under this filter. */
export async function fetchLedgerIdentity({
  ledger,
  filter,
  wantedInterfaces,
}: Pick<PipelineParts, 'ledger' | 'filter' | 'wantedInterfaces'>): Promise<StreamIdentity> {
  // Uses the configured interfaces, so that interfaces that the participant learns later do not change the filter.
  const { json, hash } = filterFingerprint({ ...filter, wantedInterfaces });
  const participantId = await readableParticipantId(ledger);
  return { participantId, filter: json, filterHash: hash, shape: filter.shape };
}

/** Undefined if this user may not read it. On some participants, read rights do not include this right. */
async function readableParticipantId(ledger: LedgerReads): Promise<string | undefined> {
  try {
    return await ledger.parties.participantId();
  } catch (thrown) {
    if (thrown instanceof IndexerError && thrown.code === 'LEDGER_PERMISSION_DENIED') return undefined;
    throw thrown;
  }
}
