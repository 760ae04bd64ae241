/** Checks whether Postgres allows as many connections as an indexer may need. */
import type { Config } from '../../config/config.ts';
import { mostConnections } from '../../indexer/connections.ts';
import type { Database } from '../../store/connection/database.ts';
import { connectionLimits, type ConnectionLimits } from '../../store/connection/inspection.ts';
import { fail, pass, warn, type Finding } from './outcome.ts';

export async function judgedConnections(database: Database, config: Config): Promise<Finding> {
  return judge(mostConnections(config), await connectionLimits(database));
}

/**
 * @param need maximum connections of the indexer
 * @param limits connection limits of Postgres
 */
export function judge(need: ReturnType<typeof mostConnections>, limits: ConnectionLimits): Finding {
  const { always, withJobs } = need;
  const needed = `an indexer has up to ${String(always)} connections, ${String(withJobs)} with all background jobs`;
  const [most, whose, remedy] = narrowest(limits);
  const free = limits.server - limits.others;
  if (most < withJobs) {
    const found = `${needed}; the limit of ${whose} is ${String(most)}`;
    return most < always ? fail(found, remedy(withJobs)) : warn(found, remedy(withJobs));
  }
  if (free < withJobs) {
    return warn(
      `${needed}; other programs have ${String(limits.others)} of ${String(limits.server)} open now`,
      `limit these (\`alter role … connection limit N\`), or raise max_connections by ${String(withJobs - free)}`,
    );
  }
  return pass(`${needed}; the limit of ${whose} is ${String(most)}`);
}

type Narrowest = readonly [most: number, whose: string, remedy: (connections: number) => string];

function narrowest({ role, database, server }: ConnectionLimits): Narrowest {
  const raised = (what: string) => (connections: number) =>
    `\`alter ${what} connection limit ${String(connections)}\`, or -1 for no limit`;
  const all: readonly Narrowest[] = [
    [
      server,
      'all sessions of the server',
      (connections) => `set max_connections higher than ${String(connections)} and restart Postgres`,
    ],
    ...(role === null ? [] : [[role, 'this role', raised('role …')] as const]),
    ...(database === null ? [] : [[database, 'all sessions of this database', raised('database …')] as const]),
  ];
  return all.reduce((least, each) => (each[0] < least[0] ? each : least));
}
