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
  readonly rows: readonly RuleViolation[];
}

export interface RuleViolation {
  readonly offset?: number;
  readonly contractId?: string;
  readonly found: string;
}

interface ViolationRow {
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
  progress: (label: string, doneCount: number) => void,
): Promise<{ readonly rules: number; readonly broken: readonly BrokenRule[] }> {
  const violations: BrokenRule[] = [];
  await client.query(`set local ${fullScanSetting}`);
  for (const [doneCount, { id, says: description, sql }] of invariants.entries()) {
    progress(id, doneCount);
    const { rows } = await client.query<ViolationRow>(
      `select b.*, count(*) over () as count from (${sql}) b order by "offset", contract_id limit ${String(listedRows)}`,
    );
    const [first] = rows;
    if (first !== undefined)
      violations.push({ rule: id, says: description, count: first.count, rows: rows.map(toBrokenRow) });
  }
  await client.query('set local enable_nestloop = default');
  return { rules: invariants.length, broken: violations };
}

function toBrokenRow({ offset, contract_id: contractId, found: problem }: ViolationRow): RuleViolation {
  return { ...(offset === null ? {} : { offset }), ...(contractId === null ? {} : { contractId }), found: problem };
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
