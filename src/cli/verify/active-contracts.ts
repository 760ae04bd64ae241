/**
 * `verify --acs`: the ledger's own active contracts at an offset against those of the tables. First sums of both sides
 * by bucket, in constant memory; then, of the buckets that differ, every entry.
 */
import { comparedFields } from '../../model/compared-rows.ts';
import { plainActive, type PlainActive } from '../../ledger/plain-frame.ts';
import {
  quarantinedContracts,
  redactedActive,
  storedEntries,
  storedSums,
  unknownActive,
  type ActiveAt,
  type BucketSum,
  type StoredActive,
} from '../../store/verify/stored-active.ts';
import { bucketOf, BucketSums, fieldDigests } from './bucket-sums.ts';
import { wholeList } from '../ledger/whole-reads.ts';
import { whole, type VerifyCall } from './call.ts';
import { cannotCompare, listedFindings, type Compared, type Finding } from './result.ts';

/** Entries of unequal buckets that are looked at one by one: what bounds the memory. */
const examinedEntries = 50_000;

/** @param asked the offset; the checkpoint of the snapshot unless given */
export async function verifyActive(call: VerifyCall, asked: number | undefined): Promise<Compared> {
  const { client, stream } = call.snapshot;
  const at = asked ?? stream.checkpoint;
  await refuseOffset(call, at);
  const range: ActiveAt = { at, after: stream.activeAfter };
  const redacted = await redactedActive(client, range);
  const unknown = await unknownActive(client, range);
  const ledger = new BucketSums();
  let compared = 0;
  let failed = false;
  const summed = async (): Promise<void> => {
    for await (const entries of activeEntries(call, range, unknown)) {
      for (const entry of entries) ledger.add(entry.contractId, entry.row, redacted.has(entry.contractId));
      compared += entries.length;
      // Without the other side there is nothing to compare: the ledger need not go on.
      if (failed) return;
    }
  };
  const ours = storedSums(client, range);
  ours.catch(() => (failed = true));
  const [stored] = await Promise.all([ours, summed()]);
  const unequal = ledger.unequal(stored);
  if (unequal.length === 0) {
    const equal = { atOffset: at, compared, different: 0, quarantined: 0, findings: [] };
    return unknown.size === 0 ? equal : { ...equal, note: leftOut(unknown.size) };
  }
  const examined = boundedBuckets(unequal, ledger, stored);
  const found = await examine(call, range, examined, { redacted, unknown });
  const explained = await explainedByQuarantine(call, at, found);
  const counted = found.filter(({ contractId = '' }) => !explained.has(contractId));
  const left = unequal.length - examined.length;
  return {
    atOffset: at,
    compared,
    different: counted.length + left,
    quarantined: found.length - counted.length,
    findings: counted.slice(0, listedFindings),
    ...(unknown.size === 0 ? {} : { note: leftOut(unknown.size) }),
    ...(left === 0 ? {} : { note: unexamined(unequal.length, examined.length) }),
    ...(found.length === 0 ? { decided: false, note: disagreement } : {}),
  };
}

const disagreement = 'sums differ although no entry does: this is a defect of verify, please report it';

function leftOut(contracts: number): string {
  return `${String(contracts)} contracts whose parties left the participant are left out: nobody here knows what became of them`;
}

function unexamined(unequal: number, examined: number): string {
  return (
    `${String(unequal)} of 4096 buckets differ, ${String(examined)} of them were looked at entry by entry; ` +
    'each of the others counts as one difference'
  );
}

async function refuseOffset({ snapshot: { stream }, client }: VerifyCall, at: number): Promise<void> {
  const { checkpoint, keptOffset, coveredAfter } = stream;
  if (at > checkpoint) {
    throw cannotCompare(`offset ${String(at)} is after the checkpoint ${String(checkpoint)}`, 'name an earlier offset');
  }
  const lowest = Math.max(keptOffset, coveredAfter, await client.state.latestPrunedOffsets());
  if (at >= lowest) return;
  throw cannotCompare(
    `offset ${String(at)} is before ${String(lowest)}, the earliest offset at which both sides still know what was active`,
    `name an offset from ${String(lowest)} to ${String(checkpoint)}, or leave --at out`,
  );
}

async function* activeEntries(
  call: VerifyCall,
  { at, after }: ActiveAt,
  unknown: ReadonlySet<string>,
): AsyncGenerator<readonly PlainActive[]> {
  for await (const texts of whole(call, '/v2/state/active-contracts', wholeList(call, at, call.filter))) {
    yield texts.flatMap((text) => {
      const entry = plainActive(text);
      return entry === undefined || entry.offset <= after || unknown.has(keyOf(entry)) ? [] : [entry];
    });
  }
}

/** As many of the buckets as have no more than `examinedEntries` entries together; at least one. */
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
  { redacted, unknown }: { readonly redacted: ReadonlySet<string>; readonly unknown: ReadonlySet<string> },
): Promise<readonly Finding[]> {
  const wanted = new Set(examined);
  const entries = await storedEntries(call.snapshot.client, range, examined);
  const stored = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const findings: Finding[] = [];
  for await (const actives of activeEntries(call, range, unknown)) {
    for (const active of actives) {
      if (!wanted.has(bucketOf(active.contractId))) continue;
      const entry = stored.get(keyOf(active));
      stored.delete(keyOf(active));
      const finding = difference(active, entry, redacted.has(active.contractId));
      if (finding !== undefined) findings.push(finding);
    }
  }
  for (const { contractId, synchronizerId, offset } of stored.values()) {
    findings.push({ what: 'extra', contractId, synchronizerId, offset });
  }
  return findings;
}

function keyOf({ contractId, synchronizerId }: { readonly contractId: string; readonly synchronizerId: string }) {
  return `${contractId} ${synchronizerId}`;
}

function difference(active: PlainActive, entry: StoredActive | undefined, redacted: boolean): Finding | undefined {
  const { contractId, synchronizerId, offset } = active;
  if (entry === undefined) return { what: 'missing', contractId, synchronizerId, offset };
  const names: readonly string[] = comparedFields.active;
  const digests = fieldDigests(active.row, redacted);
  const fields = names.filter((_, index) => digests[index] !== entry.digests[index]);
  return fields.length === 0 ? undefined : { what: 'different', contractId, synchronizerId, offset, fields };
}

/** Contracts that an update in quarantine creates or ends differ lawfully. */
async function explainedByQuarantine(
  { snapshot: { client } }: VerifyCall,
  at: number,
  findings: readonly Finding[],
): Promise<ReadonlySet<string>> {
  const ids = findings.flatMap(({ contractId }) => (contractId === undefined ? [] : [contractId]));
  return ids.length === 0 ? new Set() : await quarantinedContracts(client, at, ids);
}
