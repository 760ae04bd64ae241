/**
 * Decides whether a stream can continue from another participant. Both must have returned the same history up to the
 * switch. Offsets, and the order of updates of two synchronizers, differ between participants. Update ids, and their
 * order within each synchronizer, are the same on all participants. Read-only.
 */
import type { LedgerClient } from '../../ledger/api/client.ts';
import { updateFormat, updatesRequest, type LedgerFilter } from '../../ledger/api/request-format.ts';
import type { UpdateMark } from '../../model/stream.ts';
import { behind, notHosted, noOverlap, prunedPast, refuseWithoutRights, unknownUpdate } from './switch-refusals.ts';
import { readListed } from './listed-update.ts';

/** Number of newest stored updates to compare, if the participant returns as many. */
const compared = 500;
/** Maximum number of updates in a list over HTTP. */
const mostListed = 200;
/** Maximum number of offsets that are searched for parties that may have left. */
const maxSearchRange = 1_000_000;

/** The newest stored update of a synchronizer. */
interface SynchronizerMark extends UpdateMark {
  readonly synchronizerId: string;
  /** Everything of the synchronizer up to this record time is stored; null if unknown. */
  readonly completeTo: string | null;
}

/** Access to the stored updates of the overlap. */
export interface StoredOverlap {
  newestUpdates(): Promise<readonly SynchronizerMark[]>;
  /** The stored update that has exactly this number of updates after it, or the oldest stored update. */
  updateBefore(newer: number): Promise<UpdateMark | undefined>;
  /** Resolves to those of the `ids` that are stored. @param after stream offset after which most of them are stored */
  storedIds(ids: readonly string[], after: number): Promise<ReadonlySet<string>>;
  framesSetAside(): Promise<readonly Buffer[]>;
  firstDeparture(): Promise<UpdateMark | undefined>;
}

export interface SwitchParts {
  readonly ledger: Pick<LedgerClient, 'state' | 'updates'>;
  /** Includes the additional interfaces that the participant knows. */
  readonly filter: LedgerFilter;
  readonly stored: StoredOverlap;
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
    const { updates, known } = await readWindow(parts, window, newest);
    const cut = cutAt(updates, known, newest);
    const shift = checkpoint - cut.from;
    const overlaps = Object.fromEntries(
      [...cut.overlaps].flatMap(([id, offset]) => (offset > cut.from ? [[id, offset + shift] as const] : [])),
    );
    return { ...cut, shift, overlaps, compared: updates.length, anewFrom: window.anewFrom };
  } catch (thrown) {
    return refuseWithoutRights(thrown);
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
    if (hosted?.length === 0) throw notHosted(`party ${party} is not hosted there`);
  }
}

/** By synchronizer: the participant's offset of its newest stored update. */
type Newest = ReadonlyMap<string, number>;

async function findNewest(parts: SwitchParts, pruned: number): Promise<Newest> {
  const marks = await parts.stored.newestUpdates();
  const found = new Map<string, number>();
  const missing: SynchronizerMark[] = [];
  for (const mark of marks) {
    const offset = await offsetOf(parts, mark.updateId);
    if (offset === undefined) missing.push(mark);
    else found.set(mark.synchronizerId, offset);
  }
  for (const { updateId, synchronizerId } of await setAside(parts)) {
    const offset = await offsetOf(parts, updateId);
    // Quarantined updates count as stored, because they must not be quarantined again.
    if (offset !== undefined && offset > (found.get(synchronizerId) ?? 0)) found.set(synchronizerId, offset);
  }
  if (found.size === 0) throw await nothingCommon(parts, marks.at(-1), pruned);
  const left = pruned === 0 ? missing : await notLongAgo(parts, missing, pruned);
  if (left[0] !== undefined) throw behind(left[0]);
  return found;
}

/**
 * Resolves to the participant's offset of an update. Resolves to undefined if the participant does not return the
 * update.
 */
async function offsetOf({ ledger, filter }: SwitchParts, updateId: string): Promise<number | undefined> {
  const answer = await ledger.updates.byId(updateId, updateFormat(filter));
  return answer === undefined ? undefined : readListed(JSON.stringify(answer))?.offset;
}

/**
 * Determines why the participant has none of the newest updates: it is behind, it has pruned them, or it has a
 * different history.
 */
async function nothingCommon(parts: SwitchParts, newest: SynchronizerMark | undefined, pruned: number) {
  for (const newer of [1, 10, 100, 1_000]) {
    const mark = await parts.stored.updateBefore(newer);
    if (mark === undefined) break;
    if (newest !== undefined && (await offsetOf(parts, mark.updateId)) !== undefined) return behind(newest);
  }
  const [first] = pruned === 0 ? [] : await list(parts, pruned, await parts.ledger.state.ledgerEnd(), 1);
  const isLater = first !== undefined && newest !== undefined && later(first.recordTime, newest.completeTo);
  return isLater ? prunedPast(pruned) : noOverlap(newest);
}

/**
 * Returns the synchronizers whose newest update is missing although the participant cannot have pruned it. If a
 * synchronizer is idle, its newest update may have been pruned. This is possible if everything up to the first update
 * that the participant still returns is stored.
 */
async function notLongAgo(parts: SwitchParts, missing: readonly SynchronizerMark[], pruned: number) {
  const [first] = await list(parts, pruned, await parts.ledger.state.ledgerEnd(), 1);
  return missing.filter(({ completeTo }) => first === undefined || later(first.recordTime, completeTo));
}

/** Compares two ISO 8601 times in UTC. Without the final Z, they can be compared as texts. */
function later(time: string, than: string | null): boolean {
  return than === null || time.replace(/Z$/, '') > than.replace(/Z$/, '');
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
async function findWindow(parts: SwitchParts, newest: Newest, pruned: number): Promise<Window> {
  const lowest = Math.min(...newest.values());
  const to = Math.max(...newest.values());
  let begin = lowest;
  for (let newer = compared; newer > 0; newer = Math.floor(newer / 2)) {
    const mark = await parts.stored.updateBefore(newer);
    const offset = mark === undefined ? undefined : await offsetOf(parts, mark.updateId);
    if (offset === undefined) continue;
    begin = Math.min(begin, offset);
    break;
  }
  const departure = await parts.stored.firstDeparture();
  const left = departure === undefined ? undefined : await offsetOf(parts, departure.updateId);
  const isNear = left !== undefined && to - left <= maxSearchRange;
  if (isNear) begin = Math.min(begin, left);
  const before = await parts.stored.updateBefore(2 * compared);
  return {
    from: Math.max(pruned, begin - 1),
    to,
    storedAfter: before?.offset ?? -1,
    anewFrom: isNear ? departure?.offset : undefined,
  };
}

interface ReturnedUpdates {
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
): Promise<readonly ReturnedUpdates[]> {
  const updates: ReturnedUpdates[] = [];
  if (from >= to) return updates;
  for await (const text of ledger.updates.list(updatesRequest(from, filter, to), { limit })) {
    const one = readListed(text);
    if (one === undefined || one.kind === 'OffsetCheckpoint') continue;
    const field = (name: string): string => (typeof one.value[name] === 'string' ? one.value[name] : '');
    const { offset } = one;
    const [updateId, synchronizerId, recordTime] = [field('updateId'), field('synchronizerId'), field('recordTime')];
    updates.push({ offset, updateId, synchronizerId, recordTime });
  }
  return updates;
}

async function readWindow(parts: SwitchParts, { from, to, storedAfter }: Window, newest: Newest) {
  const aside = new Set((await setAside(parts)).map(({ updateId }) => updateId));
  const updates: ReturnedUpdates[] = [];
  const known = new Set<string>();
  for (let reached = from; ;) {
    const page = await list(parts, reached, to, mostListed);
    const ids = page.map(({ updateId }) => updateId).filter((id) => id !== '');
    for (const id of await parts.stored.storedIds(ids, storedAfter)) known.add(id);
    for (const id of ids) if (aside.has(id)) known.add(id);
    updates.push(...page);
    const last = page.at(-1);
    if (last === undefined) break;
    reached = last.offset;
  }
  // If a list does not contain an update that was just found by its id, the list proves nothing.
  const listed = new Set(updates.map(({ offset }) => offset));
  const left = [...newest].find(([, offset]) => offset > from && !listed.has(offset));
  if (left !== undefined) throw unknownUpdate({ offset: left[1], updateId: '', synchronizerId: left[0] });
  return { updates, known };
}

/**
 * Reads the ids of quarantined updates. The updates are not decoded, because even an update that cannot be stored has
 * an id.
 */
async function setAside({
  stored,
}: SwitchParts): Promise<readonly Pick<ReturnedUpdates, 'updateId' | 'synchronizerId'>[]> {
  return (await stored.framesSetAside()).flatMap((frame) => {
    try {
      const { updateId, synchronizerId } = readListed(frame.toString())?.value ?? {};
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
function cutAt(updates: readonly ReturnedUpdates[], known: ReadonlySet<string>, newest: Newest) {
  const overlaps = new Map(newest);
  for (const { updateId, synchronizerId, offset } of updates) {
    if (known.has(updateId)) overlaps.set(synchronizerId, Math.max(offset, overlaps.get(synchronizerId) ?? 0));
  }
  const lowest = Math.min(...newest.values());
  const unknown = updates.filter(({ updateId }) => !known.has(updateId));
  const wrong = unknown.find(({ synchronizerId, offset }) => offset <= (overlaps.get(synchronizerId) ?? lowest));
  if (wrong !== undefined) throw unknownUpdate(wrong);
  const from = unknown[0] === undefined ? Math.max(...overlaps.values()) : unknown[0].offset - 1;
  const common = updates.findLast(({ updateId, offset }) => known.has(updateId) && offset <= from);
  if (common === undefined) throw noOverlap(undefined);
  return { from, overlaps, common: { offset: common.offset, updateId: common.updateId } };
}
