/** Faults of a piece. Their times depend only on the random seed, the number of the piece and its length. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { printStatus } from '../figures/terminal.ts';
import type { Processes } from './processes.ts';

export type FaultKind = 'participant stop' | 'participant kill' | 'postgres stop' | 'postgres kill' | 'indexer kill';

export interface PlannedFault {
  /** Seconds after the beginning of the piece. */
  readonly at: number;
  readonly kind: FaultKind;
}

const minute = 60;
/** Mean times between two faults, seconds. */
const intervals = { participant: 7 * minute, postgres: 11 * minute, indexer: 17 * minute } as const;
/** In shorter pieces, faults are more frequent. */
const usualSeconds = 40 * minute;
/** The indexer is killed only up to this share of a piece, so that its memory is then measured without interruption. */
const indexerKillShare = 0.45;
/** No fault begins in this last share of a piece. */
const quietShare = 0.05;
/** Share of the faults that are kills. */
const kills = { participant: 0.5, postgres: 0.35 } as const;

export function plannedFaults(seed: number, piece: number, seconds: number): readonly PlannedFault[] {
  const random = new Random(seed * 1_000 + piece);
  const scale = Math.min(1, seconds / usualSeconds);
  const times = (interval: number, until: number): number[] => {
    const list: number[] = [];
    const next = (from: number): number => from + interval * scale * (0.7 + 0.6 * random.float());
    for (let at = next(0); at < until; at = next(at)) list.push(at);
    return list;
  };
  const end = seconds * (1 - quietShare);
  const isKill = (share: number): boolean => random.chance(share);
  return [
    ...times(intervals.participant, end).map((at) => ({
      at,
      kind: isKill(kills.participant) ? ('participant kill' as const) : ('participant stop' as const),
    })),
    ...times(intervals.postgres, end).map((at) => ({
      at,
      kind: isKill(kills.postgres) ? ('postgres kill' as const) : ('postgres stop' as const),
    })),
    ...times(intervals.indexer, seconds * indexerKillShare).map((at) => ({ at, kind: 'indexer kill' as const })),
  ].sort((one, other) => one.at - other.at);
}

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
