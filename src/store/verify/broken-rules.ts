/** Runs the invariants within the caller's snapshot. */
import type { ClientBase } from 'pg';
import { completionInvariants } from './completion-invariants.ts';
import { contractInvariants } from './contract-invariants.ts';
import { coverageInvariants } from './coverage-invariants.ts';
import type { Invariant } from './invariant.ts';
import { recordInvariants, redactionInvariants } from './record-invariants.ts';
import { streamInvariants } from './stream-invariants.ts';

export interface BrokenRule {
  readonly rule: string;
  readonly says: string;
  /** Number of rows that break the rule. */
  readonly count: number;
  /** The first rows that break the rule. */
  readonly rows: readonly BrokenRow[];
}

export interface BrokenRow {
  readonly offset?: number;
  readonly contractId?: string;
  readonly found: string;
}

interface FoundRow {
  readonly offset: number | null;
  readonly contract_id: string | null;
  readonly found: string;
  readonly count: number;
}

const listedRows = 20;

/**
 * SQL: a setting for the queries of the rules, which read all rows. A table may have no statistics yet, for example
 * after a large load. Without this setting, the server would then search all rows of one table for each row of another
 * table.
 */
export const fullScanSetting = 'enable_nestloop = off';

/** @param progress called before each rule, with the rule and the number of completed rules */
export async function brokenRules(
  client: ClientBase,
  progress: (what: string, done: number) => void,
): Promise<{ readonly rules: number; readonly broken: readonly BrokenRule[] }> {
  const broken: BrokenRule[] = [];
  await client.query(`set local ${fullScanSetting}`);
  for (const [done, { id, says, sql }] of invariants.entries()) {
    progress(id, done);
    const { rows } = await client.query<FoundRow>(
      `select b.*, count(*) over () as count from (${sql}) b order by "offset", contract_id limit ${String(listedRows)}`,
    );
    const [first] = rows;
    if (first !== undefined) broken.push({ rule: id, says, count: first.count, rows: rows.map(toBrokenRow) });
  }
  await client.query('set local enable_nestloop = default');
  return { rules: invariants.length, broken };
}

function toBrokenRow({ offset, contract_id: contractId, found }: FoundRow): BrokenRow {
  return { ...(offset === null ? {} : { offset }), ...(contractId === null ? {} : { contractId }), found };
}

// All invariants, in the order of docs/reference/invariants.md.

export const invariants: readonly Invariant[] = [
  ...streamInvariants,
  ...contractInvariants,
  ...recordInvariants,
  ...coverageInvariants,
  ...completionInvariants,
  ...redactionInvariants,
].sort((a, b) => (a.id < b.id ? -1 : 1));
