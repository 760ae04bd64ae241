/** Cost of a part of a run: seconds, and CPU time of the indexer, of Postgres and of the replaying ledger. */
import { processCpu } from './process-cpu.ts';
import type { Server } from '../postgres.ts';

export interface Cost {
  readonly seconds: number;
  /**
   * Microseconds; undefined if the process did not run or could not be measured. The same holds for the next fields.
   */
  readonly nodeCpu: number | undefined;
  readonly postgresCpu: number | undefined;
  readonly replayCpu: number | undefined;
}

export interface WatchedRun {
  readonly server: Server;
  readonly node?: number | undefined;
  readonly replay?: number | undefined;
}

/** Starts a measurement. The returned function returns the cost so far, and can be called repeatedly. */
export function startCost({ server, node, replay }: WatchedRun): () => Cost {
  const readClocks = () => ({
    at: process.hrtime.bigint(),
    node: node === undefined ? undefined : processCpu(node),
    postgres: server.cpu(),
    replay: replay === undefined ? undefined : processCpu(replay),
  });
  const startValue = readClocks();
  return () => {
    const end = readClocks();
    return {
      seconds: Number(end.at - startValue.at) / 1e9,
      nodeCpu: difference(startValue.node, end.node),
      postgresCpu: difference(startValue.postgres, end.postgres),
      replayCpu: difference(startValue.replay, end.replay),
    };
  };
}

function difference(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : to - from;
}

/** Nanoseconds of the clock that all processes of the machine share. */
export function now(): bigint {
  return process.hrtime.bigint();
}
