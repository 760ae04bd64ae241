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

export interface Watched {
  readonly server: Server;
  readonly node?: number | undefined;
  readonly replay?: number | undefined;
}

/** Starts a measurement. The returned function returns the cost so far, and can be called repeatedly. */
export function measured({ server, node, replay }: Watched): () => Cost {
  const read = () => ({
    at: process.hrtime.bigint(),
    node: node === undefined ? undefined : processCpu(node),
    postgres: server.cpu(),
    replay: replay === undefined ? undefined : processCpu(replay),
  });
  const begin = read();
  return () => {
    const end = read();
    return {
      seconds: Number(end.at - begin.at) / 1e9,
      nodeCpu: difference(begin.node, end.node),
      postgresCpu: difference(begin.postgres, end.postgres),
      replayCpu: difference(begin.replay, end.replay),
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
