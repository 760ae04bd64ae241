/** `verify --sql`: the rules of docs/invariants.md over the tables alone; needs no ledger. */
import { brokenRules } from '../../store/verify/broken-rules.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { listedFindings, type Compared } from './result.ts';

/** @param progress told the rule at work and how many are done */
export async function verifyRules(
  { client, stream }: Snapshot,
  progress: (what: string, done: number) => void,
): Promise<Compared> {
  const { rules, broken } = await brokenRules(client, progress);
  return {
    atOffset: stream.checkpoint,
    compared: rules,
    different: broken.reduce((sum, { count }) => sum + count, 0),
    quarantined: 0,
    findings: broken
      .flatMap(({ rule, says, rows }) =>
        rows.map((row) => ({ what: 'broken' as const, rule: `${rule} (${says})`, ...row })),
      )
      .slice(0, listedFindings),
  };
}
