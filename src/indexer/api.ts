/** `/api` of one process. */
import type { Config } from '../config/config.ts';
import { ApiAnswers, type ApiEndpoint } from '../observe/api/api-endpoint.ts';
import { readerOf } from '../observe/http/readers.ts';
import type { TokenCallers } from '../observe/http/token-callers.ts';
import { readApi } from '../store/api/read-api.ts';
import { storedRoutes } from '../store/api/routes.ts';
import type { Database } from '../store/connection/database.ts';
import { apiConnections } from './connections.ts';

/** Time limit of one statement, unless POSTGRES_STATEMENT_TIMEOUT is shorter; milliseconds. */
const apiStatementMs = 10_000;

/**
 * Prepares `/api`. Nothing is read before the first request. Undefined if it is turned off.
 * @param database pool of its own, which the caller closes
 */
export function openApi(
  { indexer, database: { statementTimeoutMs } }: Config,
  database: Database,
  callers: TokenCallers,
  parts: Pick<ApiEndpoint, 'waiters' | 'version' | 'onAnswer'>,
): ApiAnswers | undefined {
  if (!indexer.api) return undefined;
  return new ApiAnswers({
    ...parts,
    routes: storedRoutes,
    read: readApi(database, Math.min(apiStatementMs, statementTimeoutMs)),
    readerOf: (request) => readerOf(request, callers, indexer.corsOrigins),
    atOnce: apiConnections,
  });
}
