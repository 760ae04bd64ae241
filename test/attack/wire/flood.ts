/**
 * Attempts that send much traffic from their own process, while the watcher checks whether the indexer still responds
 * and stores updates.
 */
import { join } from 'node:path';
import { verdict, type Attempt, type Verdict } from '../attempt.ts';
import { projectRoot, startNode } from '../world/program.ts';
import type { World } from '../world/world.ts';

/** Parameters of `clients/flood.mjs`. */
export interface FloodOptions {
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
export async function flood(world: World, floodOptions: FloodOptions): Promise<string> {
  const text = floodOptions.text?.replaceAll('{token}', world.tokens.all.token);
  const floodProcess = startNode(client, [JSON.stringify({ port: world.port, ...floodOptions, text })]);
  const [line] = await floodProcess.waitForOutput(/\{.*\}/);
  await floodProcess.kill();
  return line;
}

/** Whether the indexer runs and `/livez` was always fast. The observation includes how long ingestion stopped. */
export function survivalVerdict(world: World, floodResult: string): Verdict {
  const { livezSeconds, totalLivezSeconds, stoppedSeconds } = world.watcher.observed();
  const exit = world.indexer.exit();
  const livez = `/livez at most ${livezSeconds.toFixed(2)} s (${totalLivezSeconds.toFixed(1)} s on this machine)`;
  const observation = `${livez}, ingestion stopped at most ${stoppedSeconds.toFixed(1)} s; ${floodResult}`;
  if (exit !== undefined) return verdict(false, `the indexer ended with ${exit}; ${observation}`);
  return verdict(livezSeconds < longestLivezSeconds, observation);
}

/** A flood that the indexer must survive. @param check a further condition that must hold after the flood */
export function floodRow(
  id: string,
  description: string,
  spec: FloodOptions,
  check?: (world: World) => Promise<Verdict>,
): Attempt {
  return {
    id,
    what: description,
    expected: `the indexer runs and stores, and /livez responds within ${String(longestLivezSeconds)} s`,
    run: async (world) => {
      const floodResult = await flood(world, spec);
      const verdictFound = survivalVerdict(world, floodResult);
      if (!verdictFound.held || check === undefined) return verdictFound;
      return check(world);
    },
  };
}
