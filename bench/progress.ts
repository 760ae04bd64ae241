/** Follows a run in its database: polls the checkpoint on a connection of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from './child.ts';
import { now } from './figures/cost.ts';
import { connect, schema } from './postgres.ts';
import { progressSql } from './storage.ts';

/** Interval of polls: cheap for Postgres, and 1 % of a run of one second. */
const pollMs = 10;
const silenceMs = 120_000;

export interface Sample {
  readonly at: bigint;
  /** The checkpoint, or the number of entries of the seed. */
  readonly reached: number;
}

interface Row {
  readonly checkpoint: string | null;
  readonly seeded: boolean;
  readonly entries: string;
}

const progressQuery = { name: 'progress', text: progressSql };

export interface ProgressGoal {
  /** Checkpoint to wait for; default: until the seed is published. */
  readonly checkpoint?: number;
  /** Called with each sample; an error ends the wait. */
  readonly onSample?: (sample: Sample) => void;
}

/**
 * Waits until the goal is committed. The last sample is the one that reached it, at most 10 ms late.
 * @throws Error if the indexer ends, or makes no progress for two minutes
 */
export async function waitForGoal(url: string, indexer: Child, progressGoal: ProgressGoal): Promise<Sample> {
  const client = await connect(url);
  try {
    await client.query(`set search_path = ${schema}`);
    let newestSample: Sample = { at: now(), reached: -1 };
    for (;;) {
      const [row] = (await Promise.race([client.query<Row>(progressQuery), indexer.died])).rows;
      const isReached =
        progressGoal.checkpoint === undefined
          ? row?.seeded === true
          : Number(row?.checkpoint) >= progressGoal.checkpoint;
      const sample = {
        at: now(),
        reached: Number(progressGoal.checkpoint === undefined ? row?.entries : row?.checkpoint),
      };
      if (sample.reached !== newestSample.reached) newestSample = sample;
      progressGoal.onSample?.(sample);
      if (isReached) return sample;
      if (Number(sample.at - newestSample.at) / 1e6 > silenceMs) throw new Error(describeStall(newestSample, indexer));
      await sleep(pollMs);
    }
  } finally {
    await client.end();
  }
}

function describeStall({ reached: offset }: Sample, indexer: Child): string {
  return `nothing was committed for 120 s after ${String(offset)}; last output of the indexer:\n${indexer.lastLines()}`;
}
