/** What the tables hold of reassignments that the ledger lists as in flight. */
import type { ClientBase } from 'pg';
import { templateJoin } from './stored-lines.ts';
import { digestsOf } from './stored-active.ts';

export interface HalfId {
  readonly contractId: string;
  readonly half: string;
  readonly offset: number;
}

/** One half: digests of its fields where a seed found it in flight, undefined where it came with an update. */
export interface StoredHalf extends HalfId {
  readonly redacted: boolean;
  readonly digests: readonly string[] | undefined;
  /** Of the contract that left, where a seed found it. */
  readonly contract: readonly string[] | undefined;
}

interface HalfRow {
  readonly contract_id: string;
  readonly kind: string;
  readonly offset: number;
  readonly incomplete: boolean;
  readonly redacted: boolean;
  readonly digests: readonly string[];
  readonly contract: readonly string[] | null;
}

/** Those of the halves that are stored. The contract that left was active at `activated`, in the order of the halves. */
export async function storedHalves(
  client: ClientBase,
  halves: readonly HalfId[],
  activated: readonly (number | null)[],
): Promise<readonly StoredHalf[]> {
  const { rows } = await client.query<HalfRow>(
    `select r.contract_id, r.kind, r."offset", r.incomplete, n.redaction_id is not null as redacted,
            ${digestsOf('in_flight', 'n.redaction_id')} as digests, found.digests as contract
       from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) w (contract_id, kind, "offset", activated)
       join reassignments r on r.contract_id = w.contract_id and r.kind = w.kind and r."offset" = w."offset"
       left join redacted_contracts n on n.contract_id = r.contract_id
       ${templateJoin}
       left join synchronizers s on s.synchronizer_pk = r.source_pk
       left join synchronizers g on g.synchronizer_pk = r.target_pk
       left join lateral (
         select ${digestsOf('seeded', 'c.redaction_id')} as digests
           from lifetimes l
           join contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset and c.origin = 'seed'
           left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
           left join templates t on t.template_pk = c.template_pk
          where l.contract_id = w.contract_id and l.activated_offset = w.activated) found on true`,
    [
      halves.map(({ contractId }) => contractId),
      halves.map(({ half }) => half),
      halves.map(({ offset }) => offset),
      activated,
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
