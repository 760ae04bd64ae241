/** The invariants of docs/reference/invariants.md, for tests that leave a stream in an unusual state. */
import { openDatabase } from '../../src/store/connection/database.ts';
import { reportPlanning } from '../../src/store/connection/report-planning.ts';
import { invariants, fullScanSetting } from '../../src/store/verify/broken-rules.ts';

/** Violated invariants, as `I10: an archive …`; empty if none is violated. */
export async function brokenRules(url: string, schema: string): Promise<readonly string[]> {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'test' });
  try {
    const brokenRuleIds: string[] = [];
    for (const { id, sql } of invariants) {
      const { rows } = await database.transaction(async (client) => {
        await client.query(`${reportPlanning}; set local ${fullScanSetting}`);
        return client.query<{ found: string }>(sql);
      });
      if (rows.length > 0) brokenRuleIds.push(`${id}: ${rows[0]?.found ?? ''} (${rows.length})`);
    }
    return brokenRuleIds;
  } finally {
    await database.close();
  }
}
