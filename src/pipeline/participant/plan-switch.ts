/**
 * Decides whether a stream can continue from another participant. Both must have returned the same history up to the
 * switch. Offsets, and the order of updates of two synchronizers, differ between participants. Update ids, and their
 * order within each synchronizer, are the same on all participants. Read-only.
 */
import type { LedgerClient } from '../../ledger/api/client.ts';
import { updateFormat, updatesRequest, type LedgerFilter } from '../../ledger/api/request-format.ts';
import type { UpdateMark } from '../../model/stream.ts';
import {
  notCaughtUpError,
  notHostedError,
  noOverlapError,
  prunedPastError,
  throwRightsError,
  unknownUpdate,
} from './switch-refusals.ts';
import { parseListedUpdate } from './listed-update.ts';

/** Number of newest stored updates to compare, if the participant returns as many. */
const maxComparedUpdates = 500;
/** Maximum number of updates in a list over HTTP. */
const maxListedUpdates = 200;
/** Maximum number of offsets that are searched for parties that may have left. */
const maxSearchOffsets = 1_000_000;

/** The newest stored update of a synchronizer. */
interface SynchronizerMark extends UpdateMark {
  readonly synchronizerId: string;
  /** Everything of the synchronizer up to this record time is stored; null if unknown. */
  readonly completeTo: string | null;
}

/** Access to the stored updates of the overlap. */
export interface StoredUpdateReads {
  newestUpdates(): Promise<readonly SynchronizerMark[]>;
  /** The stored update that has exactly this number of updates after it, or the oldest stored update. */
  updateBefore(newerOffset: number): Promise<UpdateMark | undefined>;
  /** Resolves to those of the `ids` that are stored. @param after stream offset after which most of them are stored */
  storedIds(ids: readonly string[], after: number): Promise<ReadonlySet<string>>;
  framesSetAside(): Promise<readonly Buffer[]>;
  firstDeparture(): Promise<UpdateMark | undefined>;
}

export interface SwitchParts {
  readonly ledger: Pick<LedgerClient, 'state' | 'updates'>;
  /** Includes the additional interfaces that the participant knows. */
  readonly filter: LedgerFilter;
  readonly stored: StoredUpdateReads;
}

/** Offsets are those of the new participant unless stated otherwise. */
export interface SwitchPlan {
  /** Everything that the participant returns up to this offset is stored. */
  readonly from: number;
  /** The number that is added to an offset of the participant to get the offset of the stream. */
  readonly shift: number;
  /** By synchronizer, the end of the updates after `from` that are already stored, as an offset of the stream. */
  readonly overlaps: Readonly<Record<string, number>>;
  readonly common: UpdateMark;
  /** Number of updates compared one by one. */
  readonly compared: number;
  readonly anewFrom: number | undefined;
}

/** @throws IndexerError SWITCH_NO_OVERLAP, SWITCH_BEHIND, SWITCH_PRUNED, SWITCH_UPDATE_UNKNOWN, SWITCH_NOT_HOSTED */
export async function planSwitch(parts: SwitchParts, checkpoint: number): Promise<SwitchPlan> {
  try {
    await refuseParties(parts);
    const pruned = await parts.ledger.state.latestPrunedOffsets();
    const newest = await findNewest(parts, pruned);
    const window = await findWindow(parts, newest, pruned);
    const { updates, known: knownIds } = await readWindow(parts, window, newest);
    const comparison = compareWindow(updates, knownIds, newest);
    const shift = checkpoint - comparison.from;
    const overlaps = Object.fromEntries(
      [...comparison.overlaps].flatMap(([id, offset]) =>
        offset > comparison.from ? [[id, offset + shift] as const] : [],
      ),
    );
    return { ...comparison, shift, overlaps, compared: updates.length, anewFrom: window.anewFrom };
  } catch (thrown) {
    return throwRightsError(thrown);
  }
}

/**
 * Refuses parties of the filter that the participant does not host, because their updates would be missing after the
 * switch.
 */
async function refuseParties({ ledger, filter }: SwitchParts): Promise<void> {
  for (const party of filter.parties) {
    // Some users may not request this. If the request fails, only the updates are compared.
    const hosted = await ledger.state.connectedSynchronizers({ party }).catch(() => undefined);
    if (hosted?.length === 0) throw notHostedError(`party ${party} is not hosted there`);
  }
}

/** By synchronizer: the participant's offset of its newest stored update. */
type NewestOffsets = ReadonlyMap<string, number>;

async function findNewest(parts: SwitchParts, pruned: number): Promise<NewestOffsets> {
  const synchronizerMarks = await parts.stored.newestUpdates();
  const newestOffsets = new Map<string, number>();
  const missingMarks: SynchronizerMark[] = [];
  for (const synchronizerMark of synchronizerMarks) {
    const offset = await offsetOf(parts, synchronizerMark.updateId);
    if (offset === undefined) missingMarks.push(synchronizerMark);
    else newestOffsets.set(synchronizerMark.synchronizerId, offset);
  }
  for (const { updateId, synchronizerId } of await quarantinedUpdates(parts)) {
    const offset = await offsetOf(parts, updateId);
    // Quarantined updates count as stored, because they must not be quarantined again.
    if (offset !== undefined && offset > (newestOffsets.get(synchronizerId) ?? 0))
      newestOffsets.set(synchronizerId, offset);
  }
  if (newestOffsets.size === 0) throw await noCommonUpdateError(parts, synchronizerMarks.at(-1), pruned);
  const recentlyMissing = pruned === 0 ? missingMarks : await recentMarks(parts, missingMarks, pruned);
  if (recentlyMissing[0] !== undefined) throw notCaughtUpError(recentlyMissing[0]);
  return newestOffsets;
}

/**
 * Resolves to the participant's offset of an update. Resolves to undefined if the participant does not return the
 * update.
 */
async function offsetOf({ ledger, filter }: SwitchParts, updateId: string): Promise<number | undefined> {
  const update = await ledger.updates.byId(updateId, updateFormat(filter));
  return update === undefined ? undefined : parseListedUpdate(JSON.stringify(update))?.offset;
}

/**
 * Determines why the participant has none of the newest updates: it is behind, it has pruned them, or it has a
 * different history.
 */
async function noCommonUpdateError(parts: SwitchParts, newest: SynchronizerMark | undefined, pruned: number) {
  for (const newerCount of [1, 10, 100, 1_000]) {
    const updateMark = await parts.stored.updateBefore(newerCount);
    if (updateMark === undefined) break;
    if (newest !== undefined && (await offsetOf(parts, updateMark.updateId)) !== undefined)
      return notCaughtUpError(newest);
  }
  const [first] = pruned === 0 ? [] : await list(parts, pruned, await parts.ledger.state.ledgerEnd(), 1);
  const isNewerHistory =
    first !== undefined && newest !== undefined && isLaterTime(first.recordTime, newest.completeTo);
  return isNewerHistory ? prunedPastError(pruned) : noOverlapError(newest);
}

/**
 * Returns the synchronizers whose newest update is missing although the participant cannot have pruned it. If a
 * synchronizer is idle, its newest update may have been pruned. This is possible if everything up to the first update
 * that the participant still returns is stored.
 */
async function recentMarks(parts: SwitchParts, missingMarks: readonly SynchronizerMark[], pruned: number) {
  const [first] = await list(parts, pruned, await parts.ledger.state.ledgerEnd(), 1);
  return missingMarks.filter(({ completeTo }) => first === undefined || isLaterTime(first.recordTime, completeTo));
}

/** Compares two ISO 8601 times in UTC. Without the final Z, they can be compared as texts. */
function isLaterTime(time: string, reference: string | null): boolean {
  return reference === null || time.replace(/Z$/, '') > reference.replace(/Z$/, '');
}

interface Window {
  /** Exclusive. */
  readonly from: number;
  readonly to: number;
  /** Most updates of the window are stored after this offset of the stream (exclusive). */
  readonly storedAfter: number;
  readonly anewFrom: number | undefined;
}

/**
 * The range of the participant's offsets to compare. The range ends at the newest update that both sides have. It
 * begins `compared` updates earlier, or at the oldest update that the participant returns, or where parties may have
 * left.
 */
async function findWindow(parts: SwitchParts, newest: NewestOffsets, pruned: number): Promise<Window> {
  const lowestOffset = Math.min(...newest.values());
  const to = Math.max(...newest.values());
  let beginOffset = lowestOffset;
  for (let newerCount = maxComparedUpdates; newerCount > 0; newerCount = Math.floor(newerCount / 2)) {
    const updateMark = await parts.stored.updateBefore(newerCount);
    const offset = updateMark === undefined ? undefined : await offsetOf(parts, updateMark.updateId);
    if (offset === undefined) continue;
    beginOffset = Math.min(beginOffset, offset);
    break;
  }
  const firstDeparture = await parts.stored.firstDeparture();
  const departureOffset = firstDeparture === undefined ? undefined : await offsetOf(parts, firstDeparture.updateId);
  const isWithinSearchRange = departureOffset !== undefined && to - departureOffset <= maxSearchOffsets;
  if (isWithinSearchRange) beginOffset = Math.min(beginOffset, departureOffset);
  const before = await parts.stored.updateBefore(2 * maxComparedUpdates);
  return {
    from: Math.max(pruned, beginOffset - 1),
    to,
    storedAfter: before?.offset ?? -1,
    anewFrom: isWithinSearchRange ? firstDeparture?.offset : undefined,
  };
}

interface ListedUpdateId {
  readonly offset: number;
  readonly updateId: string;
  readonly synchronizerId: string;
  readonly recordTime: string;
}

/** Updates after an offset and up to another, at most `limit`. */
async function list(
  { ledger, filter }: SwitchParts,
  from: number,
  to: number,
  limit: number,
): Promise<readonly ListedUpdateId[]> {
  const updates: ListedUpdateId[] = [];
  if (from >= to) return updates;
  for await (const text of ledger.updates.list(updatesRequest(from, filter, to), { limit })) {
    const listedUpdate = parseListedUpdate(text);
    if (listedUpdate === undefined || listedUpdate.kind === 'OffsetCheckpoint') continue;
    const field = (name: string): string =>
      typeof listedUpdate.value[name] === 'string' ? listedUpdate.value[name] : '';
    const { offset } = listedUpdate;
    const [updateId, synchronizerId, recordTime] = [field('updateId'), field('synchronizerId'), field('recordTime')];
    updates.push({ offset, updateId, synchronizerId, recordTime });
  }
  return updates;
}

async function readWindow(parts: SwitchParts, { from, to, storedAfter }: Window, newest: NewestOffsets) {
  const quarantinedIds = new Set((await quarantinedUpdates(parts)).map(({ updateId }) => updateId));
  const updates: ListedUpdateId[] = [];
  const knownIds = new Set<string>();
  for (let reachedOffset = from; ;) {
    const page = await list(parts, reachedOffset, to, maxListedUpdates);
    const ids = page.map(({ updateId }) => updateId).filter((id) => id !== '');
    for (const id of await parts.stored.storedIds(ids, storedAfter)) knownIds.add(id);
    for (const id of ids) if (quarantinedIds.has(id)) knownIds.add(id);
    updates.push(...page);
    const last = page.at(-1);
    if (last === undefined) break;
    reachedOffset = last.offset;
  }
  // If a list does not contain an update that was just found by its id, the list proves nothing.
  const listedOffsets = new Set(updates.map(({ offset }) => offset));
  const missingEntry = [...newest].find(([, offset]) => offset > from && !listedOffsets.has(offset));
  if (missingEntry !== undefined)
    throw unknownUpdate({ offset: missingEntry[1], updateId: '', synchronizerId: missingEntry[0] });
  return { updates, known: knownIds };
}

/**
 * Reads the ids of quarantined updates. The updates are not decoded, because even an update that cannot be stored has
 * an id.
 */
async function quarantinedUpdates({
  stored: storedReads,
}: SwitchParts): Promise<readonly Pick<ListedUpdateId, 'updateId' | 'synchronizerId'>[]> {
  return (await storedReads.framesSetAside()).flatMap((frame) => {
    try {
      const { updateId, synchronizerId } = parseListedUpdate(frame.toString())?.value ?? {};
      return typeof updateId === 'string' && typeof synchronizerId === 'string' ? [{ updateId, synchronizerId }] : [];
    } catch {
      return [];
    }
  });
}

/**
 * Finds the participant's offset up to which everything is stored. Later updates may be stored as well, if they belong
 * to a synchronizer that was ahead. For each such synchronizer, `overlaps` contains the offset of its last stored
 * update.
 */
function compareWindow(updates: readonly ListedUpdateId[], knownIds: ReadonlySet<string>, newest: NewestOffsets) {
  const overlaps = new Map(newest);
  for (const { updateId, synchronizerId, offset } of updates) {
    if (knownIds.has(updateId)) overlaps.set(synchronizerId, Math.max(offset, overlaps.get(synchronizerId) ?? 0));
  }
  const lowestOffset = Math.min(...newest.values());
  const unknownUpdates = updates.filter(({ updateId }) => !knownIds.has(updateId));
  const conflictingUpdate = unknownUpdates.find(
    ({ synchronizerId, offset }) => offset <= (overlaps.get(synchronizerId) ?? lowestOffset),
  );
  if (conflictingUpdate !== undefined) throw unknownUpdate(conflictingUpdate);
  const from = unknownUpdates[0] === undefined ? Math.max(...overlaps.values()) : unknownUpdates[0].offset - 1;
  const commonUpdate = updates.findLast(({ updateId, offset }) => knownIds.has(updateId) && offset <= from);
  if (commonUpdate === undefined) throw noOverlapError(undefined);
  return { from, overlaps, common: { offset: commonUpdate.offset, updateId: commonUpdate.updateId } };
}
