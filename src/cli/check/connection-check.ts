/** Checks whether Postgres allows as many connections as an indexer may need. */
import type { Config } from '../../config/config.ts';
import { connectionNeeds } from '../../indexer/connections.ts';
import type { Database } from '../../store/connection/database.ts';
import { connectionLimits, type ConnectionLimits } from '../../store/connection/inspection.ts';
import { fail, pass, warn, type Finding } from './outcome.ts';

export async function checkConnectionLimits(database: Database, config: Config): Promise<Finding> {
  return compareConnections(connectionNeeds(config), await connectionLimits(database));
}

/**
 * @param need maximum connections of the indexer
 * @param limits connection limits of Postgres
 */
export function compareConnections(need: ReturnType<typeof connectionNeeds>, limits: ConnectionLimits): Finding {
  const { always: indexerConnections, withJobs } = need;
  const requirement = `an indexer has up to ${String(indexerConnections)} connections, ${String(withJobs)} with all background jobs`;
  const [limit, limitOwner, remedy] = smallestLimit(limits);
  const freeConnections = limits.server - limits.others;
  if (limit < withJobs) {
    const message = `${requirement}; the limit of ${limitOwner} is ${String(limit)}`;
    return limit < indexerConnections ? fail(message, remedy(withJobs)) : warn(message, remedy(withJobs));
  }
  if (freeConnections < withJobs) {
    return warn(
      `${requirement}; other programs have ${String(limits.others)} of ${String(limits.server)} open now`,
      `limit these (\`alter role … connection limit N\`), or raise max_connections by ${String(withJobs - freeConnections)}`,
    );
  }
  return pass(`${requirement}; the limit of ${limitOwner} is ${String(limit)}`);
}

type ConnectionLimit = readonly [most: number, whose: string, remedy: (connections: number) => string];

function smallestLimit({ role, database, server }: ConnectionLimits): ConnectionLimit {
  const raiseRemedy = (limitTarget: string) => (connections: number) =>
    `\`alter ${limitTarget} connection limit ${String(connections)}\`, or -1 for no limit`;
  const limits: readonly ConnectionLimit[] = [
    [
      server,
      'all sessions of the server',
      (connections) => `set max_connections higher than ${String(connections)} and restart Postgres`,
    ],
    ...(role === null ? [] : [[role, 'this role', raiseRemedy('role …')] as const]),
    ...(database === null ? [] : [[database, 'all sessions of this database', raiseRemedy('database …')] as const]),
  ];
  return limits.reduce((smallest, candidate) => (candidate[0] < smallest[0] ? candidate : smallest));
}
