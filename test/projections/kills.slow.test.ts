/**
 * Kills the indexer while projections are filled, invalidated and computed by another SELECT. After each kill, stored
 * rows equal their SELECTs. In the end, the projections are complete.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { startDaemon } from '../e2e/runs/daemon.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';
import { allEqual, compare, turnJitOff, uncoveredCount, useSmallBlocks } from './projected.ts';

/** Number of SIGKILLs. `PROJECTION_KILLS=200 npx vitest run test/projections/kills.slow.test.ts` runs more. */
const killTotal = Number(process.env['PROJECTION_KILLS'] ?? 6);
const daemonEnv = {
  LEDGER_INTERFACES: 'tokens',
  INDEXER_START: 'genesis',
  INDEXER_PROJECTIONS: 'built-in',
  INDEXER_BATCH_UPDATES: '20',
};

describe(`projections of an indexer that is killed ${String(killTotal)} times`, () => {
  it('equal their SELECTs after each kill', { timeout: 120_000 + killTotal * 20_000 }, async () => {
    const world = await HistoryWorld.open(400);
    await turnJitOff(world.database.url);
    await useSmallBlocks(world.database.url, 16);
    const random = new Random(17);
    const { url } = world.database;
    const stored = async (sql: string): Promise<void> => void (await query(url, sql));
    const firstEnded = async (): Promise<string> =>
      String(
        (
          await world.row(
            `select ledger.id_text(e.contract_id) as id from ledger.ended e join ledger.contracts c using ("offset", node_id)
              where c.redaction_id is null and e.ended_offset > (select coalesce(pruned_to_offset, 0) from ledger.stream)
              order by e.ended_offset limit 1`,
          )
        )['id'],
      );
    const prunedTo = async (): Promise<number> =>
      Number((await world.row('select coalesce(pruned_to_offset, 0) as pruned from ledger.stream'))['pruned']);
    /** An offset in the last fifth of history, but not in pruned history. */
    const resetOffset = async (): Promise<number> =>
      Math.max(Math.floor((await world.checkpoint()) * 0.8), await prunedTo());
    /** Changes of history, in the order in which they follow the kills. */
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      nothing: async () => undefined,
      reset: async () => world.command(`reset --to ${String(await resetOffset())} --yes`, 'ledger', daemonEnv),
      redact: async () =>
        runCommand(redactCommand, ['contract', await firstEnded(), '--reason', 'test', '--yes'], world.env()),
      invalidate: () => stored(`insert into ledger.projection_changes (offsets) values ('(,)')`),
      'another SELECT': () => stored(`update ledger.projections set select_hash = 'another'`),
      prune: async () =>
        runCommand(
          pruneCommand,
          ['--before', String(Math.floor((await world.checkpoint()) / 4)), '--yes'],
          world.env(),
        ),
    };
    const start = () =>
      startDaemon({ ledgerUrl: world.sandbox.url, databaseUrl: url, schema: 'ledger', env: daemonEnv });
    try {
      for (let killCount = 0; killCount < killTotal; killCount += 1) {
        const daemon = start();
        await daemon.http();
        world.grow(60);
        await pause(random.between(0, 900));
        // A kill of complete projections would test nothing, and the changes need history that is not pruned.
        await waitFor('a projection is incomplete', async () => {
          world.grow(5);
          const unprunedOffsets = (await world.checkpoint()) - (await prunedTo());
          return unprunedOffsets > 100 && (await uncoveredCount(url)) > 0 ? true : undefined;
        });
        expect(daemon.exit()).toBeUndefined();
        await daemon.kill();
        const { outcome, results } = await runVerify(['--projections'], { DATABASE_URL: url });
        expect({ killCount, outcome, findings: results[0]?.findings }).toEqual({
          killCount,
          outcome: 'equal',
          findings: [],
        });
        const [name, change] = Object.entries(changes)[killCount % Object.keys(changes).length] ?? [];
        await change?.().catch((error: unknown) => {
          throw new Error(`after kill ${String(killCount)}: ${String(name)} failed`, { cause: error });
        });
      }
      await using last = start();
      await waitFor('the projections are complete', async () => {
        expect(last.exit()).toBeUndefined();
        const isStored = (await world.checkpoint()) >= world.sandbox.ledger.ledgerEnd();
        return isStored && (await uncoveredCount(url)) === 0 ? true : undefined;
      });
      expect(await compare(url)).toEqual(allEqual);
      const { results } = await runVerify(['--projections'], { DATABASE_URL: url });
      expect(results[0]).toMatchObject({ outcome: 'equal', different: 0 });
      expect(results[0]?.compared).toBeGreaterThan(1);
    } finally {
      await world.close();
    }
  });
});
