/**
 * `verify --acs`: compares the ledger's active contracts at an offset with the tables. First it compares sums of both
 * sides by bucket, in constant memory. For buckets that differ, it then compares every entry. Reassignments in flight
 * are compared half by half.
 */
import { comparedFields, type ComparedRow } from '../../model/compared-rows.ts';
import type { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import { type IsSeeded, type PlainActive, plainEntry, type PlainInFlight } from '../../ledger/frames/plain-active.ts';
import {
  type ActiveAt,
  type BucketSum,
  quarantinedContracts,
  redactedActive,
  seededOffsets,
  type StoredActive,
  storedEntries,
  type StoredHalf,
  storedHalves,
  storedSums,
  unhostedActive,
} from '../../store/verify/stored-active.ts';
import { bucketOf, BucketSums, fieldDigests } from './bucket-sums.ts';
import { readAllActiveContracts } from '../ledger/complete-reads.ts';
import { PackageNames, updatesAvailableAfter, toParticipantOffset, type VerifyCall, readToEnd } from './call.ts';
import { cannotCompare, type Compared, type Finding, listedFindings } from './result.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';

/** Maximum number of entries that are compared in buckets that differ, to bound the memory. */
const examinedEntries = 50_000;

/** @param requestedOffset offset of the active contracts; undefined for the checkpoint of the snapshot */
export async function verifyActive(call: VerifyCall, requestedOffset: number | undefined): Promise<Compared> {
  const { client, stream } = call.snapshot;
  const at = requestedOffset ?? stream.checkpoint;
  await refuseOffset(call, at);
  const seeded = await seededOffsets(client, stream.seedOffset);
  const movedAt = call.participantOffsets?.from;
  // For contracts from before a switch, the participant cannot report which became active after an offset.
  const after = stream.activeAfter < 0 ? stream.activeAfter : Math.max(stream.activeAfter, movedAt ?? 0);
  const range: ActiveAt = { at, after, seeded, movedAt };
  const redacted = await redactedActive(client, range);
  const unhosted = await unhostedActive(client, range);
  const read = new ReadList(redacted);
  let failed = false;
  const summed = async (): Promise<void> => {
    // If reading the tables has failed, there is nothing to compare, so reading the ledger stops.
    for await (const entries of activeEntries(call, range, unhosted, read.inFlight)) {
      read.add(entries);
      if (failed) return;
    }
  };
  const pendingSums = storedSums(client, range);
  pendingSums.catch(() => (failed = true));
  const [stored] = await Promise.all([pendingSums, summed()]);
  const unequal = read.sums.unequal(stored);
  const examined = boundedBuckets(unequal, read.sums, stored);
  const found = unequal.length === 0 ? [] : await examine(call, range, examined, { redacted, unhosted });
  const { inFlight, names } = read;
  const all = [...found, ...(await inFlight.differences(call.snapshot)), ...(await names.differences(call.snapshot))];
  const explained = await explainedByQuarantine(call, at, all);
  const counted = all.filter(({ contractId = '' }) => !explained.has(contractId));
  const left = unequal.length - examined.length;
  const note = left === 0 ? inFlight.note : unexamined(unequal.length, examined.length);
  return {
    atOffset: at,
    compared: read.count,
    different: counted.length + left,
    quarantined: all.length - counted.length,
    findings: counted.slice(0, listedFindings),
    ...(unhosted.size === 0 ? {} : { note: leftOut(unhosted.size) }),
    ...(note === undefined ? {} : { note }),
    ...(unequal.length > 0 && found.length === 0 ? { decided: false, note: disagreement } : {}),
  };
}

/** Results of one reading of the ledger's list. */
class ReadList {
  readonly sums = new BucketSums();
  readonly names = new PackageNames();
  readonly inFlight = new InFlight();
  readonly #redacted: ReadonlySet<string>;
  count = 0;

  constructor(redacted: ReadonlySet<string>) {
    this.#redacted = redacted;
  }

  add(entries: readonly PlainActive[]): void {
    this.count += entries.length;
    for (const { contractId, row, name } of entries) {
      this.sums.add(contractId, row, this.#redacted.has(contractId));
      this.names.add(name);
    }
  }
}

const disagreement = 'sums differ although no entry does: this is a bug in verify, please report it';

function leftOut(contracts: number): string {
  return `${String(contracts)} contracts whose parties left the participant are not compared: their state is unknown`;
}

function unexamined(unequal: number, examined: number): string {
  return (
    `${String(unequal)} of 4096 buckets differ, ${String(examined)} of them were compared entry by entry; ` +
    'each of the others counts as one difference'
  );
}

async function refuseOffset(call: VerifyCall, at: number): Promise<void> {
  const { checkpoint, prunedToOffset, coveredAfter } = call.snapshot.stream;
  if (at > checkpoint) {
    throw cannotCompare(
      `offset ${String(at)} is after the checkpoint ${String(checkpoint)}`,
      `pass --at with an offset up to ${String(checkpoint)}`,
    );
  }
  // After a switch to another participant, both sides have the same contracts only after the updates that the two
  // participants ordered differently.
  const lowest = Math.max(
    prunedToOffset,
    coveredAfter,
    call.participantOffsets?.repeatsTo ?? 0,
    await updatesAvailableAfter(call),
  );
  if (at >= lowest) return;
  throw cannotCompare(
    `offset ${String(at)} is before ${String(lowest)}, the earliest offset at which both sides still know the active contracts`,
    `pass --at with an offset from ${String(lowest)} to ${String(checkpoint)}, or remove --at`,
  );
}

/** @param inFlight receives the entries that are reassignments in flight */
async function* activeEntries(
  call: VerifyCall,
  { at, after, seeded: { upTo, streamed } }: ActiveAt,
  unhosted: ReadonlySet<string>,
  inFlight?: InFlight,
): AsyncGenerator<readonly PlainActive[]> {
  const [first, last] = streamed;
  const { participantOffsets } = call;
  const isSeeded: IsSeeded = (participantOffset, synchronizerId) => {
    const offset = participantOffsets?.toStreamOffset(participantOffset) ?? participantOffset;
    if (participantOffsets?.isStored(synchronizerId, offset) === true) return false;
    return offset <= upTo && (offset < first || offset > last);
  };
  for await (const texts of readToEnd(
    call,
    '/v2/state/active-contracts',
    readAllActiveContracts(call, toParticipantOffset(call, at), call.filter),
  )) {
    yield texts.flatMap((text) => {
      const entry = withStreamOffsets(plainEntry(text, isSeeded), participantOffsets);
      if (entry === undefined || entry.offset <= after) return [];
      if (entry.kind === 'active') return unhosted.has(keyOf(entry)) ? [] : [entry];
      // Unlike active contracts, reassignments are pruned together with the updates.
      if (entry.offset > call.snapshot.stream.prunedToOffset) inFlight?.add(entry);
      return [];
    });
  }
}

const offsetField = comparedFields.active.indexOf('offset');

/**
 * Converts the offset of an entry to that of the stream. Contracts that became active before the switch are identified
 * only by their id.
 */
function withStreamOffsets(
  entry: PlainActive | PlainInFlight | undefined,
  participantOffsets: ParticipantOffsets | undefined,
) {
  if (entry === undefined || participantOffsets === undefined) return entry;
  const offset = participantOffsets.toStreamOffset(entry.offset);
  // If the other half of a reassignment came before the switch, no offset identifies the half, so it is not compared.
  if (entry.kind === 'in_flight') return offset <= participantOffsets.repeatsTo ? undefined : { ...entry, offset };
  const isStored = participantOffsets.isStored(entry.synchronizerId, offset);
  const fields = entry.row.fields.with(offsetField, isStored ? null : String(offset));
  return { ...entry, offset: isStored ? participantOffsets.from : offset, row: { ...entry.row, fields } };
}

/** As many buckets as together have at most `examinedEntries` entries, but at least one. */
function boundedBuckets(
  unequal: readonly number[],
  ledger: BucketSums,
  stored: readonly BucketSum[],
): readonly number[] {
  const counts = new Map(stored.map(({ bucket, count }) => [bucket, count]));
  let entries = 0;
  return unequal.filter((bucket, index) => {
    entries += Math.max(ledger.count(bucket), counts.get(bucket) ?? 0);
    return index === 0 || entries <= examinedEntries;
  });
}

async function examine(
  call: VerifyCall,
  range: ActiveAt,
  examined: readonly number[],
  { redacted, unhosted }: { readonly redacted: ReadonlySet<string>; readonly unhosted: ReadonlySet<string> },
): Promise<readonly Finding[]> {
  const buckets = new Set(examined);
  const entries = await storedEntries(call.snapshot.client, range, examined);
  const stored = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const findings: Finding[] = [];
  for await (const actives of activeEntries(call, range, unhosted)) {
    for (const active of actives) {
      if (!buckets.has(bucketOf(active.contractId))) continue;
      const entry = stored.get(keyOf(active));
      stored.delete(keyOf(active));
      const finding = difference(active, entry, redacted.has(active.contractId));
      if (finding !== undefined) findings.push(finding);
    }
  }
  for (const { contractId, synchronizerId, offset } of stored.values()) {
    findings.push({ type: 'extra', contractId, synchronizerId, offset });
  }
  return findings;
}

function keyOf({ contractId, synchronizerId }: { readonly contractId: string; readonly synchronizerId: string }) {
  return `${contractId} ${synchronizerId}`;
}

function difference(active: PlainActive, entry: StoredActive | undefined, redacted: boolean): Finding | undefined {
  const { contractId, synchronizerId, offset } = active;
  if (entry === undefined) return { type: 'missing', contractId, synchronizerId, offset };
  const names: readonly string[] = comparedFields[active.row.kind];
  const digests = fieldDigests(active.row, redacted);
  const fields = names.filter((_, index) => digests[index] !== entry.digests[index]);
  return fields.length === 0 ? undefined : { type: 'different', contractId, synchronizerId, offset, fields };
}

/**
 * Ids of the contracts among the findings that a quarantined update creates or archives: they are expected to differ.
 */
async function explainedByQuarantine(
  { snapshot: { client } }: VerifyCall,
  at: number,
  findings: readonly Finding[],
): Promise<ReadonlySet<string>> {
  const ids = findings.flatMap(({ contractId }) => (contractId === undefined ? [] : [contractId]));
  return ids.length === 0 ? new Set() : await quarantinedContracts(client, at, ids);
}

// Compares reassignments that the ledger lists as in flight with the halves that a seed stored.

/** Maximum number of halves that are compared. There are never many in flight. */
const maxReassignmentHalves = 10_000;

class InFlight {
  readonly #halves: PlainInFlight[] = [];
  #left = 0;

  add(half: PlainInFlight): void {
    if (this.#halves.length < maxReassignmentHalves) this.#halves.push(half);
    else this.#left += 1;
  }

  get note(): string | undefined {
    if (this.#left === 0) return undefined;
    return `${String(this.#left)} of the reassignments in flight were not compared, after the first ${String(maxReassignmentHalves)}`;
  }

  async differences({ client }: Snapshot): Promise<readonly Finding[]> {
    if (this.#halves.length === 0) return [];
    const activated = this.#halves.map(({ contract }) => contract?.offset ?? null);
    const rows = await storedHalves(client, this.#halves, activated);
    const stored = new Map(rows.map((row) => [halfKey(row), row]));
    return this.#halves.flatMap((half) => differencesOf(half, stored.get(halfKey(half))));
  }
}

function halfKey({ half, contractId, offset }: Pick<StoredHalf, 'half' | 'contractId' | 'offset'>): string {
  return `${half} ${contractId} ${String(offset)}`;
}

function differencesOf(sent: PlainInFlight, stored: StoredHalf | undefined): readonly Finding[] {
  const { contractId, offset, row, contract } = sent;
  const named = { contractId, offset, row: row.key };
  if (stored === undefined) return [{ type: 'missing', ...named }];
  const fields = [
    ...differing(row, stored.redacted, stored.digests),
    // The list does not say how often a contract in flight was reassigned before.
    ...(contract === undefined ? [] : differing(contract.row, stored.redacted, stored.contract)).filter(
      (name) => name !== 'reassignment_counter',
    ),
  ];
  return fields.length === 0 ? [] : [{ type: 'different', ...named, fields }];
}

function differing(row: ComparedRow, redacted: boolean, stored: readonly string[] | undefined): readonly string[] {
  if (stored === undefined || stored.length !== row.fields.length) return [];
  const digests = fieldDigests(row, redacted);
  const names: readonly string[] = comparedFields[row.kind];
  return names.filter((_, index) => digests[index] !== stored[index]);
}
