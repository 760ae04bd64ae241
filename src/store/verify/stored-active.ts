/**
 * Reads the contracts that are active at an offset according to the tables. It returns sums per bucket, and single
 * contracts for buckets that differ. It also reads reassignments in flight.
 */
import type { ClientBase } from 'pg';
import { comparedFields } from '../../model/compared-rows.ts';
import { fieldExpressions, lineDigest, templateJoin } from './stored-lines.ts';

/** Number of entries in one bucket, and the sum of their digests as four unsigned 64-bit numbers. */
export interface BucketSum {
  readonly bucket: number;
  readonly count: number;
  readonly sums: readonly bigint[];
}

export interface ActiveRange {
  /** Compares the contracts active at this offset. */
  readonly at: number;
  /** Compares only contracts activated after this offset. */
  readonly after: number;
  readonly seeded: SeededOffsets;
  /**
   * The offset at which the stream was switched to the participant. Earlier contracts have different offsets at the new
   * participant, so their offsets are not compared.
   */
  readonly movedAt?: number | undefined;
}

/**
 * Offsets at which a contract that became active was found by a seed: up to an offset, except where updates were stored
 * before.
 */
export interface SeededOffsets {
  readonly upTo: number;
  /**
   * Offsets of the first and last contract up to `upTo` that came with an update. If there is no such contract, the
   * first offset is larger than the last.
   */
  readonly streamed: readonly [first: number, last: number];
}

/** One stored active contract. Each field has a digest of 16 hexadecimal digits; empty if the field is absent. */
export interface StoredActive {
  readonly contractId: string;
  readonly synchronizerId: string;
  readonly offset: number;
  readonly redacted: boolean;
  readonly digests: readonly string[];
}

/** SQL: the bucket of a contract, which is the first twelve bits of the SHA-256 of its id. */
const bucketSql = '((get_byte(b.id_digest, 0) << 4) | (get_byte(b.id_digest, 1) >> 4))';

const rowsSql = `from lifetimes l
  left join decoded_contracts c on c."offset" = l.activated_offset and c.node_id = l.node_id
  left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
  left join templates t on t.template_pk = c.template_pk
 where l.activated_offset <= $1 and l.activated_offset > $2 and (l.deactivated_offset is null or l.deactivated_offset > $1)
   and (l.unhosted_since is null or l.unhosted_since > $1)`;

const foundBySeedSql = 'l.activated_offset <= $3 and (l.activated_offset < $4 or l.activated_offset > $5)';

function isSeeded({ movedAt }: ActiveRange): string {
  return movedAt === undefined ? foundBySeedSql : `${foundBySeedSql} and l.activated_offset > ${String(movedAt)}`;
}

const offsetField = comparedFields.active.indexOf('offset');

/** SQL of the fields of a kind; offsets from before a switch are null. */
function fieldsOf(kind: 'active' | 'seeded', { movedAt }: ActiveRange): readonly string[] {
  const fields = fieldExpressions(kind, 'c.redaction_id');
  if (movedAt === undefined) return fields;
  return fields.with(
    offsetField,
    `case when l.activated_offset > ${String(movedAt)} then l.activated_offset::text end`,
  );
}

function parametersOf({
  at: offset,
  after,
  seeded: { upTo, streamed: streamedRange },
}: ActiveRange): readonly number[] {
  return [offset, after, upTo, ...streamedRange];
}

const digestPartSum = (index: number): string =>
  `sum(('x' || encode(substring(b.digest from ${String(index * 8 + 1)} for 8), 'hex'))::bit(64)::bigint)::text`;

interface SumRow {
  readonly bucket: number;
  readonly count: number;
  readonly sums: readonly string[];
}

/** Sums of all buckets that have entries. Reads every active contract. */
export async function readStoredSums(client: ClientBase, range: ActiveRange): Promise<readonly BucketSum[]> {
  const digest = (kind: 'active' | 'seeded'): string => lineDigest(fieldsOf(kind, range));
  const { rows } = await client.query<SumRow>(
    `select ${bucketSql} as bucket, count(*) as count, array[${[0, 1, 2, 3].map(digestPartSum).join(', ')}] as sums
       from (select sha256(convert_to(l.contract_id, 'UTF8')) as id_digest,
                    case when ${isSeeded(range)} then ${digest('seeded')} else ${digest('active')} end as digest ${rowsSql}) b
      group by 1`,
    [...parametersOf(range)],
  );
  return rows.map((row) => ({
    bucket: row.bucket,
    count: row.count,
    sums: row.sums.map((sum) => BigInt.asUintN(64, BigInt(sum))),
  }));
}

interface EntryRow {
  readonly contract_id: string;
  readonly synchronizer_id: string;
  readonly offset: number;
  readonly redacted: boolean;
  readonly digests: readonly string[];
}

/** SQL: array of the digests of the fields of a row, each with 16 hexadecimal digits; empty if the field is absent. */
function digestsOf(fields: readonly string[]): string {
  const digests = fields.map((text) => `coalesce(left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 16), '')`);
  return `array[${digests.join(', ')}]`;
}

/** The entries of these buckets. Reads the ids of all active contracts, and the rows of these buckets. */
export async function storedEntries(
  client: ClientBase,
  range: ActiveRange,
  buckets: readonly number[],
): Promise<readonly StoredActive[]> {
  const [active, seeded] = [digestsOf(fieldsOf('active', range)), digestsOf(fieldsOf('seeded', range))];
  const { rows } = await client.query<EntryRow>(
    `select b.* from (
       select l.contract_id, coalesce(s.synchronizer_id, '') as synchronizer_id, l.activated_offset as "offset",
              c.redaction_id is not null as redacted, case when ${isSeeded(range)} then ${seeded} else ${active} end as digests,
              sha256(convert_to(l.contract_id, 'UTF8')) as id_digest
         ${rowsSql}) b
      where ${bucketSql} = any($6::integer[])`,
    [...parametersOf(range), buckets],
  );
  return rows.map((row) => ({
    contractId: row.contract_id,
    synchronizerId: row.synchronizer_id,
    offset: row.offset,
    redacted: row.redacted,
    digests: row.digests,
  }));
}

/**
 * Offsets of seeded contracts. After a repeated seed, all contracts are read, because the seed may list contracts whose
 * updates were stored.
 */
export async function seededOffsets(client: ClientBase, seedOffset: number): Promise<SeededOffsets> {
  const { rows } = await client.query<{ first: number | null; last: number | null }>(
    `select min("offset") as first, max("offset") as last from contracts
      where origin <> 's' and "offset" <= $1 and (select count(*) from coverage) > 1`,
    [seedOffset],
  );
  const { first, last } = rows[0] ?? {};
  return { upTo: seedOffset, streamed: [first ?? Number.MAX_SAFE_INTEGER, last ?? -1] };
}

/**
 * Ids of active contracts whose contents were redacted. Read them before the sums, so that the ledger's entries are
 * compared without these contents as well.
 */
export async function redactedActive(
  client: ClientBase,
  { at: offset }: Pick<ActiveRange, 'at'>,
): Promise<ReadonlySet<string>> {
  const redactionRows = await client.query('select from redactions limit 1');
  if (redactionRows.rowCount === 0) return new Set();
  const { rows } = await client.query<{ contract_id: string }>(
    `select distinct l.contract_id from contracts c
       join lifetimes l on l.activated_offset = c."offset" and l.node_id = c.node_id
      where c.redaction_id is not null and l.activated_offset <= $1
        and (l.deactivated_offset is null or l.deactivated_offset > $1)`,
    [offset],
  );
  return new Set(rows.map((row) => row.contract_id));
}

/**
 * Contracts whose parties had left the participant, as contract id, space, synchronizer id. It is correct whether or
 * not the participant lists them.
 */
export async function unhostedActive(
  client: ClientBase,
  { at: offset, after }: ActiveRange,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ key: string }>(
    `select l.contract_id || ' ' || s.synchronizer_id as key
       from lifetimes l join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
      where l.unhosted_since <= $1 and l.activated_offset > $2
        and (l.deactivated_offset is null or l.deactivated_offset > $1)`,
    [offset, after],
  );
  return new Set(rows.map(({ key }) => key));
}

/** The subset of these contracts that occurs in a quarantined update up to this offset. Their differences are not errors. */
export async function quarantinedContracts(
  client: ClientBase,
  at: number,
  contractIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ contract_id: string }>(
    `select distinct id as contract_id from unnest($2::text[]) id
       join quarantine q on q."offset" <= $1 and position(convert_to('"' || id || '"', 'UTF8') in q.frame) > 0`,
    [at, contractIds],
  );
  return new Set(rows.map((row) => row.contract_id));
}

// Stored reassignments that the ledger lists as in flight.

export interface HalfIdentity {
  readonly contractId: string;
  readonly half: string;
  readonly offset: number;
}

/**
 * One half of a reassignment. Its fields have digests if a seed found it in flight; undefined if it came with an
 * update.
 */
export interface StoredReassignment extends HalfIdentity {
  readonly redacted: boolean;
  readonly digests: readonly string[] | undefined;
  /** Digests of the contract that left, if a seed found the contract; otherwise undefined. */
  readonly contract: readonly string[] | undefined;
}

interface HalfDatabaseRow {
  readonly contract_id: string;
  readonly kind: string;
  readonly offset: number;
  readonly incomplete: boolean;
  readonly redacted: boolean;
  readonly digests: readonly string[];
  readonly contract: readonly string[] | null;
}

/**
 * The halves among these that are stored.
 * @param activationOffsets for each half, the offset at which the contract that left was activated; null if unknown
 */
export async function readStoredHalves(
  client: ClientBase,
  halves: readonly HalfIdentity[],
  activationOffsets: readonly (number | null)[],
): Promise<readonly StoredReassignment[]> {
  const { rows } = await client.query<HalfDatabaseRow>(
    `select r.contract_id, r.kind, r."offset", r.incomplete, n.redaction_id is not null as redacted,
            ${digestsOf(fieldExpressions('in_flight', 'n.redaction_id'))} as digests, found.digests as contract
       from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) w (contract_id, kind, "offset", activated)
       join decoded_reassignments r on r.contract_id = w.contract_id and r.kind = w.kind and r."offset" = w."offset"
       left join redacted_contracts n on n.contract_id = r.contract_id
       ${templateJoin}
       left join synchronizers s on s.synchronizer_pk = r.source_pk
       left join synchronizers g on g.synchronizer_pk = r.target_pk
       left join (
         select l.contract_id, l.activated_offset, ${digestsOf(fieldExpressions('seeded', 'c.redaction_id'))} as digests
           from lifetimes l
           join decoded_contracts c on c."offset" = l.activated_offset and c.node_id = l.node_id and c.origin = 'seed'
           left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
           left join templates t on t.template_pk = c.template_pk
          where l.contract_id = any ($1)
         -- At another offset than the half, perhaps on another server: selected before the join.
         offset 0) found on found.contract_id = w.contract_id and found.activated_offset = w.activated`,
    [
      halves.map(({ contractId }) => contractId),
      halves.map(({ half: halfKind }) => halfKind),
      halves.map(({ offset }) => offset),
      activationOffsets,
    ],
  );
  return rows.map((row) => ({
    contractId: row.contract_id,
    half: row.kind,
    offset: row.offset,
    redacted: row.redacted,
    digests: row.incomplete ? row.digests : undefined,
    contract: row.contract ?? undefined,
  }));
}
