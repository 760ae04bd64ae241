/** Rounds that measure the indexer with projections and without, in alternating order, each with an empty database. */
import { rmSync } from 'node:fs';
import { isEnding } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { openFolder } from './history-folder.ts';
import { migrateDatabase, startServer, type AnswersServer } from './server.ts';

export type ProjectionSetting = 'built-in' | 'off';

/** The results of one round. */
export interface Pair<T> {
  readonly off: T;
  readonly builtIn: T;
}

export async function pairedRounds<T>(
  rounds: number,
  measure: (server: AnswersServer, projections: ProjectionSetting) => Promise<T>,
): Promise<readonly Pair<T>[]> {
  const pairs: Pair<T>[] = [];
  for (let round = 0; round < rounds && !isEnding(); round += 1) {
    const run = (projections: ProjectionSetting): Promise<T> => {
      printStatus(`round ${String(round + 1)}, projections ${projections}`);
      return withEmptyDatabase((server) => measure(server, projections));
    };
    const isOffFirst = round % 2 === 0;
    const first = await run(isOffFirst ? 'off' : 'built-in');
    const second = await run(isOffFirst ? 'built-in' : 'off');
    pairs.push(isOffFirst ? { off: first, builtIn: second } : { off: second, builtIn: first });
  }
  return pairs;
}

/** The server and its files are gone afterwards, because many rounds would fill the disk. */
async function withEmptyDatabase<T>(work: (server: AnswersServer) => Promise<T>): Promise<T> {
  const folder = openFolder(undefined);
  const server = await startServer(folder);
  await migrateDatabase(server.url);
  const result = await work(server);
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
  return result;
}
