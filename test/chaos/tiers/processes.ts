/**
 * Runs real processes of the built program repeatedly. They are killed at a message of their connections, frozen or
 * stopped, or two of them share one stream. In the end the rows must be the same as after a run without faults.
 */
import type { Daemon } from '../../e2e/runs/daemon.ts';
import { Canary } from '../../support/canary.ts';
import { differences } from '../model/comparison.ts';
import type { ChaosDatabase } from '../databases.ts';
import { historyOf, offsetAfter, type History } from '../history/history.ts';
import { ModelLedger } from '../model/model-ledger.ts';
import { outcomeOf, type RunOutcome } from '../model/oracle.ts';
import { openWires, startProcess, stopCleanly, token, waitUntilStored, type WireSession } from './process-life.ts';
import { SeededRandom } from '../history/random.ts';
import { runInLanes, type ChaosTier, type TierContext } from './tier.ts';
import { runUndisturbed } from './undisturbed.ts';
import { pause } from '../../support/wait-for.ts';

const updates = 90;
const seededUpdates = 30;
/** Fraction of the seeds that this tier runs, because processes start slowly. */
const share = 0.4;
/** Number of deaths per seed. */
const deaths = 7;
/** Approximate number of messages in a session from start to stop. */
const sessionMessages = 160;

const kinds = {
  kill: 'process: SIGKILL at a message',
  killIdle: 'process: SIGKILL while idle',
  freeze: 'process: SIGSTOP, SIGCONT',
  term: 'process: SIGTERM at a message',
  impatient: 'process: SIGTERM, then SIGKILL',
  standby: 'process: SIGKILL with a standby waiting',
} as const;
type KillKind = keyof typeof kinds;

/** Most of these faults are plain SIGKILLs, because the product promises to survive them. */
const killPlan: readonly KillKind[] = [
  ...Array.from({ length: 12 }, () => 'kill' as const),
  'killIdle',
  'freeze',
  'term',
  'impatient',
  'standby',
];

interface Run {
  readonly context: TierContext;
  readonly history: History;
  readonly ledger: ModelLedger;
  readonly database: ChaosDatabase;
  readonly wires: WireSession;
  readonly random: SeededRandom;
}

export const processes: ChaosTier = {
  name: 'processes',
  what: 'the built program as processes: SIGKILL, SIGSTOP, SIGTERM, two for one stream',
  run: async (context) => {
    for (const kind of Object.values(kinds)) context.report.expect(kind);
    const seeds = Array.from({ length: Math.ceil(context.seeds * share) }, (_, index) => context.firstSeed + index);
    await runInLanes(context.lanes, seeds, (seed) => trySeed(context, seed));
  },
};

async function trySeed(context: TierContext, seed: number): Promise<void> {
  const { server, report } = context;
  const history = historyOf(seed, { updates });
  const reference = await server.lend();
  const database = await server.lend();
  const problems: string[] = [];
  try {
    const expected = await runUndisturbed(reference, history, seededUpdates);
    const passwords = [decodeURIComponent(new URL(database.url).password)];
    const canary = new Canary({ tokens: [token], passwords, words: [] });
    const outcome = await runDisturbed(context, database, history, new SeededRandom(seed), canary);
    problems.push(
      ...outcome.contradictions,
      ...canary.leaks().map(({ where: leakLocation, what: leakKind }) => `a ${leakKind} in the ${leakLocation}`),
    );
    const reachedRun = { database: database, outcome: outcome };
    problems.push(...(await differences(report, { database: reference, outcome: expected }, reachedRun)));
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  report.seeds += 1;
  if (problems.length > 0) {
    report.fail({
      tier: 'processes',
      replay: `npm run chaos -- --tier processes --seed ${String(seed)}`,
      found: problems,
    });
  }
  reference.giveBack();
  database.giveBack();
}

async function runDisturbed(
  context: TierContext,
  database: ChaosDatabase,
  history: History,
  random: SeededRandom,
  canary: Canary,
): Promise<RunOutcome> {
  await using ledger = await ModelLedger.start(history, seededUpdates);
  await using wires = await openWires(ledger, database);
  const run: Run = { context, history, ledger, database, wires, random };
  let survivingDaemon: Daemon | undefined;
  for (let deathNumber = 1; deathNumber <= deaths; deathNumber += 1) {
    // Later items become visible only after the seed is published, so that every run seeds at the same offset.
    const visibleItems =
      seededUpdates + Math.ceil(((history.items.length - seededUpdates) * deathNumber) / (deaths + 1));
    ledger.onFollow = () => {
      ledger.grow(visibleItems);
    };
    if (deathNumber > 1 && (await isSeeded(database))) ledger.grow(visibleItems);
    const daemon: Daemon = survivingDaemon ?? startProcess(wires);
    survivingDaemon = await killAndCheck(run, daemon, random.pick(killPlan), visibleItems);
    if (survivingDaemon !== daemon) canary.look('log', daemon.output());
  }
  ledger.onFollow = () => {
    ledger.grow(history.items.length);
  };
  if (await isSeeded(database)) ledger.grow(history.items.length);
  await using last = survivingDaemon ?? startProcess(wires);
  await waitUntilStored(database, offsetAfter(history, history.items.length), last);
  await canary.lookAt('last process', last);
  await stopCleanly(last);
  return outcomeOf(database, history);
}

async function isSeeded(database: ChaosDatabase): Promise<boolean> {
  const { rows } = await database.client.query('select from ledger.stream where seeded_at is not null');
  return rows.length > 0;
}

/** Ends or freezes a process in one of these ways. Returns the process that survives, if there is one. */
async function killAndCheck(
  run: Run,
  daemon: Daemon,
  killKind: KillKind,
  visibleItems: number,
): Promise<Daemon | undefined> {
  const { wires, random, context } = run;
  const messageCount = wires.messages(random.between(1, sessionMessages));
  const whenStored = waitUntilStored(run.database, offsetAfter(run.history, visibleItems), daemon).catch(
    (error: unknown) => {
      // Irrelevant after the process has ended; before that, it is a bug.
      if (daemon.exit() === undefined) throw error;
    },
  );
  // The message may never be sent. Then the process is killed while it is idle, which is also a valid moment.
  if (killKind === 'killIdle') await whenStored;
  else await Promise.race([messageCount, whenStored.then(() => pause(random.between(0, 30)))]);
  if (daemon.exit() !== undefined) throw new Error(`it ended without a stop: ${daemon.output().slice(-1_500)}`);
  const survivingDaemon = await executeKill(killKind, run, daemon);
  context.report.hit(kinds[killKind]);
  if (survivingDaemon !== daemon) await whenStored.catch(() => undefined);
  return survivingDaemon;
}

async function executeKill(killKind: KillKind, { wires, random, context }: Run, daemon: Daemon) {
  switch (killKind) {
    case 'freeze':
      daemon.signal('SIGSTOP');
      await pause(random.between(50, 400));
      daemon.signal('SIGCONT');
      return daemon;
    case 'term':
      await stopCleanly(daemon);
      return undefined;
    case 'standby': {
      const standby = startProcess(wires);
      await standby.logged('standby').catch(() => undefined);
      await daemon.kill();
      context.report.sigkills += 1;
      return standby;
    }
    case 'impatient':
      daemon.signal('SIGTERM');
      await pause(random.between(0, 20));
      break;
    case 'kill':
    case 'killIdle':
      break;
  }
  // The process may have stopped before the kill.
  if (daemon.exit() === undefined) context.report.sigkills += 1;
  await daemon.kill();
  return undefined;
}
