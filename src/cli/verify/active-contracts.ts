/**
 * `verify --acs`: compares the ledger's active contracts at an offset with the tables. First it compares sums of both
 * sides by bucket, in constant memory. For buckets that differ, it then compares every entry. Reassignments in flight
 * are compared half by half.
 */
import { comparedFields, type ComparableRow } from '../../model/compared-rows.ts';
import type { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import {
  type SeedPredicate,
  type LedgerActive,
  activeOrInFlight,
  type LedgerInFlight,
} from '../../ledger/frames/plain-active.ts';
import {
  type ActiveRange,
  type BucketSum,
  quarantinedContracts,
  redactedActive,
  seededOffsets,
  type StoredActive,
  storedEntries,
  type StoredReassignment,
  readStoredHalves,
  readStoredSums,
  unhostedActive,
} from '../../store/verify/stored-active.ts';
import { bucketOf, BucketSums, fieldDigests } from './bucket-sums.ts';
import { readAllActiveContracts } from '../ledger/complete-reads.ts';
import { PackageNames, updatesAvailableAfter, toParticipantOffset, type VerifyCall, readToEnd } from './call.ts';
import { cannotVerifyError, type Compared, type Finding, listedFindings } from './result.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';

/** Maximum number of entries that are compared in buckets that differ, to bound the memory. */
const examinedEntries = 50_000;

/** @param requestedOffset offset of the active contracts; undefined for the checkpoint of the snapshot */
export async function verifyActive(call: VerifyCall, requestedOffset: number | undefined): Promise<Compared> {
  const { client, stream } = call.snapshot;
  const offset = requestedOffset ?? stream.checkpoint;
  await refuseOffset(call, offset);
  const seeded = await seededOffsets(client, stream.seedOffset);
  const movedAt = call.participantOffsets?.from;
  // For contracts from before a switch, the participant cannot report which became active after an offset.
  const after = stream.activeAfter < 0 ? stream.activeAfter : Math.max(stream.activeAfter, movedAt ?? 0);
  const range: ActiveRange = { at: offset, after, seeded, movedAt };
  const redacted = await redactedActive(client, range);
  const unhostedIds = await unhostedActive(client, range);
  const ledgerList = new LedgerList(redacted);
  let failed = false;
  const readSums = async (): Promise<void> => {
    // If reading the tables has failed, there is nothing to compare, so reading the ledger stops.
    for await (const entries of activeEntries(call, range, unhostedIds, ledgerList.inFlight)) {
      ledgerList.add(entries);
      if (failed) return;
    }
  };
  const pendingSums = readStoredSums(client, range);
  pendingSums.catch(() => (failed = true));
  const [bucketSumsHere] = await Promise.all([pendingSums, readSums()]);
  const differentBuckets = ledgerList.sums.unequal(bucketSumsHere);
  const examinedBuckets = limitBuckets(differentBuckets, ledgerList.sums, bucketSumsHere);
  const bucketFindings =
    differentBuckets.length === 0
      ? []
      : await examine(call, range, examinedBuckets, { redacted, unhosted: unhostedIds });
  const { inFlight, names } = ledgerList;
  const findings = [
    ...bucketFindings,
    ...(await inFlight.differences(call.snapshot)),
    ...(await names.differences(call.snapshot)),
  ];
  const quarantinedIds = await explainedByQuarantine(call, offset, findings);
  const unexplained = findings.filter(({ contractId = '' }) => !quarantinedIds.has(contractId));
  const skippedCount = differentBuckets.length - examinedBuckets.length;
  const resultNote =
    skippedCount === 0 ? inFlight.note : skippedBucketsNote(differentBuckets.length, examinedBuckets.length);
  return {
    atOffset: offset,
    compared: ledgerList.count,
    different: unexplained.length + skippedCount,
    quarantined: findings.length - unexplained.length,
    findings: unexplained.slice(0, listedFindings),
    ...(unhostedIds.size === 0 ? {} : { note: unhostedNote(unhostedIds.size) }),
    ...(resultNote === undefined ? {} : { note: resultNote }),
    ...(differentBuckets.length > 0 && bucketFindings.length === 0 ? { decided: false, note: disagreement } : {}),
  };
}

/** Results of one reading of the ledger's list. */
class LedgerList {
  readonly sums = new BucketSums();
  readonly names = new PackageNames();
  readonly inFlight = new InFlightHalves();
  readonly #redacted: ReadonlySet<string>;
  count = 0;

  constructor(redacted: ReadonlySet<string>) {
    this.#redacted = redacted;
  }

  add(entries: readonly LedgerActive[]): void {
    this.count += entries.length;
    for (const { contractId, row, name } of entries) {
      this.sums.add(contractId, row, this.#redacted.has(contractId));
      this.names.add(name);
    }
  }
}

const disagreement = 'sums differ although no entry does: this is a bug in verify, please report it';

function unhostedNote(contracts: number): string {
  return `${String(contracts)} contracts whose parties left the participant are not compared: their state is unknown`;
}

function skippedBucketsNote(differentCount: number, examinedCount: number): string {
  return (
    `${String(differentCount)} of 4096 buckets differ, ${String(examinedCount)} of them were compared entry by entry; ` +
    'each of the others counts as one difference'
  );
}

async function refuseOffset(call: VerifyCall, at: number): Promise<void> {
  const { checkpoint, prunedToOffset, coveredAfter } = call.snapshot.stream;
  if (at > checkpoint) {
    throw cannotVerifyError(
      `offset ${String(at)} is after the checkpoint ${String(checkpoint)}`,
      `pass --at with an offset up to ${String(checkpoint)}`,
    );
  }
  // After a switch to another participant, both sides have the same contracts only after the updates that the two
  // participants ordered differently.
  const minOffset = Math.max(
    prunedToOffset,
    coveredAfter,
    call.participantOffsets?.repeatsTo ?? 0,
    await updatesAvailableAfter(call),
  );
  if (at >= minOffset) return;
  throw cannotVerifyError(
    `offset ${String(at)} is before ${String(minOffset)}, the earliest offset at which both sides still know the active contracts`,
    `pass --at with an offset from ${String(minOffset)} to ${String(checkpoint)}, or remove --at`,
  );
}

/** @param inFlight receives the entries that are reassignments in flight */
async function* activeEntries(
  call: VerifyCall,
  { at: atOffset, after, seeded: { upTo, streamed: streamedRange } }: ActiveRange,
  unhostedIds: ReadonlySet<string>,
  inFlight?: InFlightHalves,
): AsyncGenerator<readonly LedgerActive[]> {
  const [first, last] = streamedRange;
  const { participantOffsets } = call;
  const isSeeded: SeedPredicate = (participantOffset, synchronizerId) => {
    const offset = participantOffsets?.toStreamOffset(participantOffset) ?? participantOffset;
    if (participantOffsets?.isStored(synchronizerId, offset) === true) return false;
    return offset <= upTo && (offset < first || offset > last);
  };
  for await (const texts of readToEnd(
    call,
    '/v2/state/active-contracts',
    readAllActiveContracts(call, toParticipantOffset(call, atOffset), call.filter),
  )) {
    yield texts.flatMap((text) => {
      const entry = withStreamOffsets(activeOrInFlight(text, isSeeded), participantOffsets);
      if (entry === undefined || entry.offset <= after) return [];
      if (entry.kind === 'active') return unhostedIds.has(keyOf(entry)) ? [] : [entry];
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
  entry: LedgerActive | LedgerInFlight | undefined,
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
function limitBuckets(
  bucketNumbers: readonly number[],
  ledger: BucketSums,
  storedBucketSums: readonly BucketSum[],
): readonly number[] {
  const counts = new Map(storedBucketSums.map(({ bucket, count }) => [bucket, count]));
  let entries = 0;
  return bucketNumbers.filter((bucket, index) => {
    entries += Math.max(ledger.count(bucket), counts.get(bucket) ?? 0);
    return index === 0 || entries <= examinedEntries;
  });
}

async function examine(
  call: VerifyCall,
  range: ActiveRange,
  bucketNumbers: readonly number[],
  {
    redacted,
    unhosted: unhostedIds,
  }: { readonly redacted: ReadonlySet<string>; readonly unhosted: ReadonlySet<string> },
): Promise<readonly Finding[]> {
  const buckets = new Set(bucketNumbers);
  const entries = await storedEntries(call.snapshot.client, range, bucketNumbers);
  const entriesByKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const findings: Finding[] = [];
  for await (const actives of activeEntries(call, range, unhostedIds)) {
    for (const active of actives) {
      if (!buckets.has(bucketOf(active.contractId))) continue;
      const entry = entriesByKey.get(keyOf(active));
      entriesByKey.delete(keyOf(active));
      const finding = difference(active, entry, redacted.has(active.contractId));
      if (finding !== undefined) findings.push(finding);
    }
  }
  for (const { contractId, synchronizerId, offset } of entriesByKey.values()) {
    findings.push({ type: 'extra', contractId, synchronizerId, offset });
  }
  return findings;
}

function keyOf({ contractId, synchronizerId }: { readonly contractId: string; readonly synchronizerId: string }) {
  return `${contractId} ${synchronizerId}`;
}

function difference(active: LedgerActive, entry: StoredActive | undefined, redacted: boolean): Finding | undefined {
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

class InFlightHalves {
  readonly #halves: LedgerInFlight[] = [];
  #left = 0;

  add(half: LedgerInFlight): void {
    if (this.#halves.length < maxReassignmentHalves) this.#halves.push(half);
    else this.#left += 1;
  }

  get note(): string | undefined {
    if (this.#left === 0) return undefined;
    return `${String(this.#left)} of the reassignments in flight were not compared, after the first ${String(maxReassignmentHalves)}`;
  }

  async differences({ client }: Snapshot): Promise<readonly Finding[]> {
    if (this.#halves.length === 0) return [];
    const activationOffsets = this.#halves.map(({ contract }) => contract?.offset ?? null);
    const rows = await readStoredHalves(client, this.#halves, activationOffsets);
    const halvesByKey = new Map(rows.map((row) => [reassignmentKey(row), row]));
    return this.#halves.flatMap((half) => differencesOf(half, halvesByKey.get(reassignmentKey(half))));
  }
}

function reassignmentKey({
  half,
  contractId,
  offset,
}: Pick<StoredReassignment, 'half' | 'contractId' | 'offset'>): string {
  return `${half} ${contractId} ${String(offset)}`;
}

function differencesOf(ledgerHalf: LedgerInFlight, storedHalf: StoredReassignment | undefined): readonly Finding[] {
  const { contractId, offset, row, contract } = ledgerHalf;
  const findingFields = { contractId, offset, row: row.key };
  if (storedHalf === undefined) return [{ type: 'missing', ...findingFields }];
  const fields = [
    ...differentFields(row, storedHalf.redacted, storedHalf.digests),
    // The list does not say how often a contract in flight was reassigned before.
    ...(contract === undefined ? [] : differentFields(contract.row, storedHalf.redacted, storedHalf.contract)).filter(
      (name) => name !== 'reassignment_counter',
    ),
  ];
  return fields.length === 0 ? [] : [{ type: 'different', ...findingFields, fields }];
}

function differentFields(
  row: ComparableRow,
  redacted: boolean,
  storedTexts: readonly string[] | undefined,
): readonly string[] {
  if (storedTexts === undefined || storedTexts.length !== row.fields.length) return [];
  const digests = fieldDigests(row, redacted);
  const names: readonly string[] = comparedFields[row.kind];
  return names.filter((_, index) => digests[index] !== storedTexts[index]);
}
