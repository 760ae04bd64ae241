/**
 * Compares the views over filled projections with their SELECTs, on the recorded messages of a participant, for the
 * owner and for three readers that see one party each.
 */
import { describe, expect, it } from 'vitest';
import { projectionNames } from '../../src/model/stream.ts';
import { query } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { readRecording, shapes } from '../recordings/recording.ts';
import { prepareRun } from '../recordings/run.ts';
import { limitedReaders } from './limited-readers.ts';
import { allEqual, compare, fillAll, turnJitOff, uncoveredCount, useSmallBlocks } from './projected.ts';

/** The three parties with the most contracts. */
async function busiestParties(url: string): Promise<readonly string[]> {
  const rows = await query(
    url,
    `select party, count(*) from explore.contracts c cross join unnest(c.signatories || c.observers) party
      group by party order by 2 desc, 1 limit 3`,
  );
  return rows.map(({ party }) => String(party));
}

describe.each(['core', 'two-synchronizers'])('projections of recording %s', needs(limitsSkipReason), (name) => {
  it.each(shapes)('return the rows of their SELECTs under %s, to each reader', async (shape) => {
    const recording = readRecording(name);
    // The indexer does not fill the projections, so that the test chooses the ranges.
    const env = { INDEXER_PROJECTIONS: 'off' };
    await using run = await prepareRun({ recording, shape, ledgerEnd: recording.end, env });
    await turnJitOff(run.databaseUrl);
    {
      await using daemon = run.start();
      await run.reaches(daemon, recording.end);
    }
    const parties = await busiestParties(run.databaseUrl);
    expect(parties).toHaveLength(3);
    await using readers = await limitedReaders(run.databaseUrl, parties);
    await useSmallBlocks(run.databaseUrl, 16);
    expect(await fillAll(run.databaseUrl, 7)).toBeGreaterThan(5 * projectionNames.length);
    expect(await uncoveredCount(run.databaseUrl)).toBe(0);
    for (const url of [run.databaseUrl, ...readers.urls]) expect(await compare(url)).toEqual(allEqual);
    const rows = await query(run.databaseUrl, 'select count(*)::int as count from ledger.projected_party_activity');
    expect(rows[0]?.['count']).toBeGreaterThan(10);
  });
});
