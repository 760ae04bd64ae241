/** promtool of Prometheus, if it is installed. */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';

export function promtool(args: readonly string[], input = ''): SpawnSyncReturns<string> {
  return spawnSync('promtool', args, { encoding: 'utf8', input });
}

export const promtoolSkipReason =
  promtool(['--version']).status === 0 ? undefined : 'needs promtool (apt-get install prometheus)';
