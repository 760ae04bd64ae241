/**
 * Attempts that send much from a process of its own, while the watcher checks whether the indexer still responds and
 * stores.
 */
import { join } from 'node:path';
import { verdict, type Attempt, type Verdict } from '../attempt.ts';
import { projectRoot, startNode } from '../world/program.ts';
import type { World } from '../world/world.ts';

/** Parameters of `clients/flood.mjs`. */
export interface Flood {
  readonly connections: number;
  /** `{n}` is the number of the connection, `{token}` one that reads everything. */
  readonly text?: string;
  readonly repeat?: number;
  /** Between the connection and its text. */
  readonly afterMs?: number;
  /** Read the responses. */
  readonly read?: boolean;
  /** Sent five times a second. */
  readonly drip?: string;
  readonly holdMs: number;
}

/** A probe that takes longer is taken for a failure by usual load balancers and by Kubernetes. */
const longestLivezSeconds = 1;

const client = join(projectRoot, 'test', 'attack', 'clients', 'flood.mjs');

/** Runs it to its end; returns its counts as JSON. */
export async function flood(world: World, what: Flood): Promise<string> {
  const text = what.text?.replaceAll('{token}', world.tokens.all.token);
  const running = startNode(client, [JSON.stringify({ port: world.port, ...what, text })]);
  const [line] = await running.waitForOutput(/\{.*\}/);
  await running.kill();
  return line;
}

/** Whether the indexer runs, `/livez` never took long, and the ledger's updates were stored. */
export function survived(world: World, counted: string): Verdict {
  const { livezSeconds, totalLivezSeconds, stoppedSeconds } = world.watcher.observed();
  const exit = world.indexer.exit();
  const livez = `/livez at most ${livezSeconds.toFixed(2)} s (${totalLivezSeconds.toFixed(1)} s on this machine)`;
  const seen = `${livez}, ingestion stopped at most ${stoppedSeconds.toFixed(1)} s; ${counted}`;
  if (exit !== undefined) return verdict(false, `the indexer ended with ${exit}; ${seen}`);
  return verdict(livezSeconds < longestLivezSeconds, seen);
}

/** A flood that the indexer has to survive. @param after a further condition that has to hold then */
export function floodRow(id: string, what: string, spec: Flood, after?: (world: World) => Promise<Verdict>): Attempt {
  return {
    id,
    what,
    expected: `the indexer runs and stores, and /livez responds within ${String(longestLivezSeconds)} s`,
    run: async (world) => {
      const counted = await flood(world, spec);
      const found = survived(world, counted);
      if (!found.held || after === undefined) return found;
      return after(world);
    },
  };
}
