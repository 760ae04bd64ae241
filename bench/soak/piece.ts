/** One piece of a soak: starts all processes, runs traffic with faults and samples, and checks everything at the end. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onExit } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { checkVerify, type CheckResult } from './checks.ts';
import { plannedFaults, runFaults } from './faults.ts';
import { saveState, type SoakState } from './folder.ts';
import { startObservers, type Observers } from './observers.ts';
import type { SoakOptions } from './options.ts';
import { Processes } from './processes.ts';
import type { ReaderResult } from './reader.ts';
import { ledgerEndOf } from './reference.ts';
import { takeSample, type Sample } from './samples.ts';
import type { AnalyzedPiece } from './series.ts';
import { startTokenServer } from './tokens.ts';

export interface PieceResult extends AnalyzedPiece {
  readonly checks: readonly CheckResult[];
  readonly updates: number;
  readonly tokens: number;
  readonly reader: ReaderResult;
}

/** Interval between two samples, seconds: at most ten, and at least 240 samples in a piece. */
const sampleSeconds = (seconds: number): number => Math.min(10, Math.max(0.5, seconds / 240));

/** Settings of the indexer. Retention removes rows during the piece. */
function indexerEnv(seconds: number): Record<string, string> {
  const minutes = Math.min(15, Math.max(2, Math.round(seconds / 60 / 8)));
  return {
    LEDGER_INTERFACES: 'tokens',
    INDEXER_API: 'true',
    INDEXER_RETENTION: `${String(minutes)}m`,
    INDEXER_RETENTION_INTERVAL: `${String(Math.min(60, Math.max(5, Math.round(seconds / 30))))}s`,
    INDEXER_WEBHOOK_NETWORKS: 'loopback',
  };
}

export async function runPiece(
  folder: string,
  state: SoakState,
  options: SoakOptions,
): Promise<[PieceResult, SoakState]> {
  const { seconds, rate, clients } = options;
  const piece = state.pieces + 1;
  saveState(folder, { ...state, isComplete: false });
  printStatus(`piece ${String(piece)}: starting`);
  const tokens = await startTokenServer(state.ports.tokens);
  const env = { ...indexerEnv(seconds), ...tokens.env };
  const processes = new Processes({ folder, ports: state.ports, rate, env });
  await processes.startPostgres();
  await processes.startLedger();
  processes.startIndexer();
  onExit(() => processes.endIndexer('SIGTERM'));
  await processes.untilStored(await ledgerEndOf(processes.ledgerUrl));
  const observers = await startObservers(folder, state, clients, processes);
  const traffic = await runTraffic({ folder, state, piece, seconds, processes, observers });
  printStatus(`piece ${String(piece)}: checking`);
  const { ledgerEnd } = await processes.stopTraffic();
  await processes.untilStored(ledgerEnd);
  const { checks: received, reader, selection } = await observers.finish(ledgerEnd);
  const checks = [...received, await checkVerify(join(folder, 'verify.json'), processes)];
  await processes.endIndexer('SIGTERM');
  await processes.endLedger('SIGTERM');
  await processes.stopPostgres();
  await tokens.stop();
  const result = { ...traffic, checks, updates: selection.reference.updates, tokens: tokens.issued(), reader };
  const isComplete = checks.every(({ isPassed }) => isPassed);
  const next = { ...state, ...selection, pieces: piece, seconds: state.seconds + seconds, isComplete };
  saveState(folder, next);
  appendFileSync(join(folder, 'pieces.jsonl'), `${JSON.stringify(result)}\n`);
  return [result, next];
}

interface TrafficPlan {
  readonly folder: string;
  readonly state: SoakState;
  readonly piece: number;
  readonly seconds: number;
  readonly processes: Processes;
  readonly observers: Observers;
}

/** Runs faults and samples for the length of the piece. */
async function runTraffic({
  folder,
  state,
  piece,
  seconds,
  processes,
  observers,
}: TrafficPlan): Promise<AnalyzedPiece> {
  const { clients } = observers;
  const begin = performance.now();
  const elapsed = (): number => (performance.now() - begin) / 1_000;
  const faults = runFaults(processes, plannedFaults(state.seed, piece, seconds), elapsed);
  const whenFailed = Promise.race([processes.failed, clients.died, faults.then(() => sleep(seconds * 2_000))]);
  whenFailed.catch(() => undefined);
  while (elapsed() < seconds) {
    const next = elapsed() + sampleSeconds(seconds);
    const values = { ...(await takeSample(processes)), ...(await observers.values()) };
    const sample: Sample = { at: state.seconds + elapsed(), piece, values };
    appendFileSync(join(folder, 'samples.jsonl'), `${JSON.stringify(sample)}\n`);
    await Promise.race([sleep(Math.max(0, (next - elapsed()) * 1_000)), whenFailed]);
  }
  return { piece, begin: state.seconds, seconds, faults: await Promise.race([faults, processes.failed]) };
}
