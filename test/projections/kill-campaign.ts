/** Kills an indexer again and again while history changes, and compares the projections after each kill. */
import { expect } from 'vitest';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import type { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { runVerify } from '../verify/verify-run.ts';

export type Env = Readonly<Record<string, string>>;

/** A change of history or of a projection. */
export interface Change {
  readonly name: string;
  /** Whether it may be made while an indexer runs. */
  readonly isLive: boolean;
  readonly make: () => Promise<unknown>;
}

/** Offset up to which history is pruned. */
async function prunedTo(world: HistoryWorld): Promise<number> {
  return Number((await world.row('select coalesce(pruned_to_offset, 0) as pruned from ledger.stream'))['pruned']);
}

async function reset(world: HistoryWorld, env: Env): Promise<unknown> {
  // An offset in the last fifth of history, but not in pruned history.
  const to = Math.max(Math.floor((await world.checkpoint()) * 0.8), await prunedTo(world));
  return world.command(`reset --to ${String(to)} --yes`, 'ledger', env);
}

async function redact(world: HistoryWorld): Promise<unknown> {
  const { id } = await world.row(
    `select ledger.id_text(e.contract_id) as id from ledger.ended e join ledger.contracts c using ("offset", node_id)
      where c.redaction_id is null and e.ended_by = 'a'
        and e.ended_offset > (select coalesce(pruned_to_offset, 0) from ledger.stream)
      order by e.ended_offset limit 1`,
  );
  return runCommand(redactCommand, ['contract', String(id), '--reason', 'test', '--yes'], world.env());
}

async function prune(world: HistoryWorld): Promise<unknown> {
  const before = String(Math.floor((await world.checkpoint()) / 4));
  return runCommand(pruneCommand, ['--before', before, '--yes'], world.env());
}

/** The changes of history in every campaign. */
export function historyChanges(world: HistoryWorld, env: Env) {
  const stored = (sql: string): Promise<unknown> => query(world.database.url, sql);
  return {
    nothing: { name: 'nothing', isLive: true, make: async () => undefined },
    reset: { name: 'reset', isLive: false, make: () => reset(world, env) },
    redact: { name: 'redact', isLive: true, make: () => redact(world) },
    invalidate: {
      name: 'invalidate',
      isLive: true,
      make: () => stored(`insert into ledger.projection_changes (offsets) values ('(,)')`),
    },
    anotherSelect: {
      name: 'another SELECT',
      isLive: false,
      make: () => stored(`update ledger.projections set select_hash = 'another'`),
    },
    prune: { name: 'prune', isLive: true, make: () => prune(world) },
  } satisfies Readonly<Record<string, Change>>;
}

export interface Campaign {
  readonly world: HistoryWorld;
  readonly env: Env;
  readonly kills: number;
  /** Changes in the order in which they are made, again and again. */
  readonly changes: readonly Change[];
  /** Whether a change that an indexer allows is made while it runs, instead of after the kill. */
  readonly isLive: (killCount: number) => boolean;
  /** Waits for the moment of a kill, or kills the indexer. */
  readonly moment: (killCount: number, daemon: Daemon) => Promise<void>;
  /** Number of projections that are not complete. */
  readonly uncovered: () => Promise<number>;
  /** @throws if stored rows differ */
  readonly compare: () => Promise<void>;
}

/** Kills the indexer, and returns when the projections are complete and equal. */
export async function killRepeatedly(campaign: Campaign): Promise<void> {
  const { world, kills, changes, compare } = campaign;
  for (let killCount = 0; killCount < kills; killCount += 1) {
    const change = changes[killCount % changes.length];
    const isLive = campaign.isLive(killCount) && change?.isLive === true;
    await killOnce(campaign, killCount, isLive ? change : undefined);
    await compareAll(campaign, `kill ${String(killCount)}, ${String(change?.name)}`);
    if (!isLive) await make(killCount, change);
  }
  await using last = start(campaign);
  await waitFor(
    'the projections are complete',
    async () => {
      expect(last.exit()).toBeUndefined();
      const isStored = (await world.checkpoint()) >= world.sandbox.ledger.ledgerEnd();
      return isStored && (await campaign.uncovered()) === 0 ? true : undefined;
    },
    90_000,
  );
  await compare();
  const { results } = await runVerify(['--projections'], { DATABASE_URL: world.database.url });
  expect(results[0]).toMatchObject({ outcome: 'equal', different: 0 });
  expect(results[0]?.compared).toBeGreaterThan(1);
}

function start({ world, env }: Campaign): Daemon {
  return startDaemon({ ledgerUrl: world.sandbox.url, databaseUrl: world.database.url, schema: 'ledger', env });
}

async function killOnce(campaign: Campaign, killCount: number, change: Change | undefined): Promise<void> {
  const { world } = campaign;
  await using daemon = start(campaign);
  await daemon.http();
  world.grow(60);
  const changing = make(killCount, change);
  // A failure is reported after the kill.
  changing.catch(() => undefined);
  await campaign.moment(killCount, daemon);
  if (daemon.exit() === undefined) await waitUntilIncomplete(campaign);
  await daemon.kill();
  expect(await daemon.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await changing;
}

/** A kill of complete projections would test nothing, and the changes need history that is not pruned. */
async function waitUntilIncomplete({ world, uncovered }: Campaign): Promise<void> {
  await waitFor('a projection is incomplete', async () => {
    world.grow(5);
    const unprunedOffsets = (await world.checkpoint()) - (await prunedTo(world));
    return unprunedOffsets > 100 && (await uncovered()) > 0 ? true : undefined;
  });
}

async function make(killCount: number, change: Change | undefined): Promise<void> {
  await change?.make().catch((error: unknown) => {
    throw new Error(`kill ${String(killCount)}: ${change.name} failed`, { cause: error });
  });
}

async function compareAll({ world, compare }: Campaign, after: string): Promise<void> {
  const { outcome, results } = await runVerify(['--projections'], { DATABASE_URL: world.database.url });
  expect({ after, outcome, findings: results[0]?.findings }).toEqual({ after, outcome: 'equal', findings: [] });
  await compare();
}
