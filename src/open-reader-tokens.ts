/** Tokens of readers in one process: looked up on a connection of their own, so that no page that is read keeps them waiting. */
import type { Config } from './config/config.ts';
import { ReaderTokens } from './observe/http/reader-tokens.ts';
import type { Pace } from './pace.ts';
import { openDatabase } from './store/connection/database.ts';
import { readTokens } from './store/roles/reader-tokens.ts';

/** A look at a handful of rows; with the time between two of them it is less than five seconds. */
const statementTimeoutMs = 2_000;

export interface OpenTokens {
  readonly tokens: ReaderTokens;
  readonly close: (limitMs?: number) => Promise<void>;
}

/** Prepares it; connects when somebody shows a token. */
export function openReaderTokens(
  { database: { schema, urlFile } }: Config,
  url: string,
  { tokensMs }: Pace,
): OpenTokens {
  const applicationName = 'ledger-indexer tokens';
  const database = openDatabase({ url, urlFile, schema, statementTimeoutMs, applicationName, maxConnections: 1 });
  const tokens = new ReaderTokens((hashes) => readTokens(database, hashes), tokensMs);
  return {
    tokens,
    close: (limitMs) => {
      tokens.close();
      return database.close(limitMs);
    },
  };
}
