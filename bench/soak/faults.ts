/** Carries out the planned faults of a piece, one after the other. */
import { setTimeout as sleep } from 'node:timers/promises';
import { printStatus } from '../figures/terminal.ts';
import type { Processes } from './processes.ts';
import type { FaultKind, PlannedFault } from './schedule.ts';

export interface DoneFault {
  readonly kind: FaultKind;
  /** Seconds after the beginning of the piece, and until the process ran again. */
  readonly at: number;
  readonly seconds: number;
}

const actions: Readonly<Record<FaultKind, (processes: Processes) => Promise<unknown>>> = {
  'participant stop': async (processes) => {
    await processes.endLedger('SIGTERM');
    await processes.startLedger();
  },
  'participant kill': async (processes) => {
    await processes.endLedger('SIGKILL');
    await processes.startLedger();
  },
  'postgres stop': async (processes) => {
    await processes.stopPostgres();
    await processes.startPostgres();
  },
  'postgres kill': async (processes) => {
    await processes.killPostgres();
    await processes.startPostgres();
  },
  'indexer kill': async (processes) => {
    await processes.endIndexer('SIGKILL');
    processes.startIndexer();
  },
};

/** @param elapsed seconds since the beginning of the piece */
export async function runFaults(
  processes: Processes,
  faults: readonly PlannedFault[],
  elapsed: () => number,
): Promise<readonly DoneFault[]> {
  const done: DoneFault[] = [];
  for (const { at, kind } of faults) {
    await sleep(Math.max(0, (at - elapsed()) * 1_000));
    const begin = elapsed();
    printStatus(`${kind} at ${begin.toFixed(0)} s`);
    await actions[kind](processes);
    done.push({ kind, at: begin, seconds: elapsed() - begin });
  }
  return done;
}
