/**
 * The projections: views whose rows are stored by ranges of offsets, so that a question about years of history reads
 * stored rows. Each has a table named `projected_` and the name of the view, and a function named after the view and
 * `_between`, which computes the rows of a range.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { escapeIdentifier } from 'pg';
import { projectedTable, projectionNames, type ProjectionName } from '../../model/stream.ts';
import { readSchemas } from '../connection/read-schemas.ts';

export interface Projection {
  /** Name in table `projections`. For a built-in projection, the name of the view in schema `explore`. */
  readonly name: string;
  /** SQL: its table. */
  readonly table: string;
  /**
   * SQL: computes the rows after `$1` and up to and including `$2`, where null is no limit. The columns are those of
   * the table, in the same order.
   */
  readonly select: string;
  /** Hash of the SQL that the rows depend on. */
  readonly hash: string;
  /** Whether the rows are sums of blocks of offsets, which are stored when a block is complete. */
  readonly isSummed: boolean;
  /** The projections whose rows the SELECT reads. A range is stored after their rows in the range. */
  readonly sources: readonly string[];
  /** Set for a projection that a user added. */
  readonly user?: UserVersion;
}

/** One version of a projection that a user added. */
export interface UserVersion {
  /** Name of the view in schema `derived`. */
  readonly view: string;
  readonly generation: number;
  /** The role that reads the rows. It can only read. */
  readonly readRole: string;
  /** Whether a row may depend on contracts of earlier offsets. */
  readonly looksUp: boolean;
  /** Whether a newer version has replaced it, so that its rows are removed. */
  readonly isRetired: boolean;
}

/** Projections whose SELECT reads the rows of other projections. */
const readRows: Readonly<Partial<Record<ProjectionName, readonly ProjectionName[]>>> = {
  token_changes: ['token_holding_events', 'token_transfer_steps'],
  token_transfers: ['token_changes', 'token_transfer_steps'],
  token_discrepancies: ['token_holding_events', 'token_changes'],
  token_balance_changes: ['token_holding_events'],
  token_movements: ['token_transfers'],
};

/** Projections whose rows are sums of blocks of offsets. */
const summed: ReadonlySet<ProjectionName> = new Set([
  'token_balance_changes',
  'token_movements',
  'contract_lifetimes',
  'party_activity',
]);

/** The files in migrations/read with the SQL that the rows of each projection depend on. */
const sources: Readonly<Record<ProjectionName, readonly string[]>> = {
  token_holding_events: ['50_tokens', '51_token_holding_events'],
  token_changes: ['50_tokens', '51_token_events', '51_token_holding_events', '52_token_changes'],
  token_transfers: [
    '50_tokens',
    '51_token_events',
    '51_token_holding_events',
    '52_token_changes',
    '53_token_transfers',
  ],
  token_discrepancies: [
    '50_tokens',
    '51_token_events',
    '51_token_holding_events',
    '52_token_changes',
    '53_token_transfers',
  ],
  token_transfer_steps: ['50_tokens', '51_token_events'],
  traffic_purchases: ['54_network', '55_traffic'],
  amulet_transfers: ['54_network', '58_amulet_transfers'],
  ended_reward_coupons: ['54_network', '56_rewards'],
  traffic_costs: ['55_traffic'],
  token_balance_changes: ['50_tokens', '51_token_holding_events'],
  token_movements: [
    '50_tokens',
    '51_token_events',
    '51_token_holding_events',
    '52_token_changes',
    '53_token_transfers',
  ],
  contract_lifetimes: ['48_sums'],
  party_activity: ['48_sums'],
};

const directory = new URL('../../../migrations/read/', import.meta.url);

/** The built-in projections with their SQL. */
export async function builtInProjections(schema: string): Promise<readonly Projection[]> {
  const explore = escapeIdentifier(readSchemas(schema).explore);
  return Promise.all(
    projectionNames.map(async (name) => {
      const texts = await Promise.all(sources[name].map((file) => readFile(new URL(`${file}.sql`, directory), 'utf8')));
      const hash = createHash('sha256').update(texts.join('\n')).digest('hex');
      const select = `select * from ${explore}.${name}_between($1::bigint, $2::bigint)`;
      const isSummed = summed.has(name);
      return { name, table: projectedTable(name), select, hash, isSummed, sources: readRows[name] ?? [] };
    }),
  );
}

/** A range of offsets. */
export interface ProjectedRange {
  /** Exclusive; null at the beginning of history. */
  readonly after: number | null;
  /** Inclusive. */
  readonly upTo: number;
}

/** SQL of the rows in a range. Limits are constants instead of parameters, because the plan has to fit the range. */
export function selectOfRange({ select, user }: Projection, { after, upTo }: ProjectedRange): string {
  // The SELECT of a user compares offsets with its limits, so they are numbers.
  const begin = after ?? (user === undefined ? 'null' : -1);
  return select.replace('$1::', `${String(begin)}::`).replace('$2::', `${String(upTo)}::`);
}
