/** Rounds that measure the indexer with two sets of projections, in alternating order, each with an empty database. */
import { rmSync } from 'node:fs';
import { isEnding } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { openFolder } from './history-folder.ts';
import type { AnswersOptions } from './options.ts';
import { migrateDatabase, startServer, type AnswersServer } from './server.ts';
import type { ProjectionSetting } from './user-projections.ts';

/** The results of one round. */
export interface Pair<T> {
  readonly base: T;
  readonly measured: T;
}

/** The settings to compare: built-in projections and none, or projections of users and the built-in ones alone. */
export function comparedSettings({ userProjections }: AnswersOptions): Pair<ProjectionSetting> {
  return userProjections > 0 ? { base: 'built-in', measured: 'all' } : { base: 'off', measured: 'built-in' };
}

export async function pairedRounds<T>(
  rounds: number,
  settings: Pair<ProjectionSetting>,
  measure: (server: AnswersServer, projections: ProjectionSetting) => Promise<T>,
): Promise<readonly Pair<T>[]> {
  const pairs: Pair<T>[] = [];
  for (let round = 0; round < rounds && !isEnding(); round += 1) {
    const run = (projections: ProjectionSetting): Promise<T> => {
      printStatus(`round ${String(round + 1)}, projections ${projections}`);
      return withEmptyDatabase((server) => measure(server, projections));
    };
    const isBaseFirst = round % 2 === 0;
    const first = await run(isBaseFirst ? settings.base : settings.measured);
    const second = await run(isBaseFirst ? settings.measured : settings.base);
    pairs.push(isBaseFirst ? { base: first, measured: second } : { base: second, measured: first });
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
