/**
 * Attempts that send much traffic from their own process, while the watcher checks whether the indexer still responds
 * and stores updates.
 */
import { join } from 'node:path';
import { verdict, type Attempt, type Verdict } from '../attempt.ts';
import { projectRoot, startNode } from '../world/program.ts';
import type { World } from '../world/world.ts';

/** Parameters of `clients/flood.mjs`. */
export interface Flood {
  readonly connections: number;
  /** Text sent on each connection. `{n}` is the number of the connection, `{token}` a token that reads everything. */
  readonly text?: string;
  readonly repeat?: number;
  /** Delay between opening the connection and sending the text, in milliseconds. */
  readonly afterMs?: number;
  /** Whether the client reads the responses. */
  readonly read?: boolean;
  /** Text sent five times per second after the first text. */
  readonly drip?: string;
  readonly holdMs: number;
}

/** Common load balancers and Kubernetes treat a slower probe as failed. */
const longestLivezSeconds = 1;

const client = join(projectRoot, 'test', 'attack', 'clients', 'flood.mjs');

/** Runs the client to its end and returns its counts as JSON. */
export async function flood(world: World, what: Flood): Promise<string> {
  const text = what.text?.replaceAll('{token}', world.tokens.all.token);
  const running = startNode(client, [JSON.stringify({ port: world.port, ...what, text })]);
  const [line] = await running.waitForOutput(/\{.*\}/);
  await running.kill();
  return line;
}

/** Whether the indexer runs and `/livez` was always fast. The observation includes how long ingestion stopped. */
export function survived(world: World, counted: string): Verdict {
  const { livezSeconds, totalLivezSeconds, stoppedSeconds } = world.watcher.observed();
  const exit = world.indexer.exit();
  const livez = `/livez at most ${livezSeconds.toFixed(2)} s (${totalLivezSeconds.toFixed(1)} s on this machine)`;
  const seen = `${livez}, ingestion stopped at most ${stoppedSeconds.toFixed(1)} s; ${counted}`;
  if (exit !== undefined) return verdict(false, `the indexer ended with ${exit}; ${seen}`);
  return verdict(livezSeconds < longestLivezSeconds, seen);
}

/** A flood that the indexer must survive. @param after a further condition that must hold after the flood */
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
