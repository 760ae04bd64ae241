/**
 * Selects the indexer whose status is printed: the indexer that writes to the configured database, not any process on
 * the port.
 */
import type { Config } from '../../config/config.ts';
import type { StatusDocument } from '../../observe/health/health-tracker.ts';
import { databaseLabel, isSameDatabase } from '../../store/connection/hosts.ts';
import { openFor } from '../database/with-database.ts';
import { fetchIndexerStatus, readRunningDemoNote } from '../demo/running-demo.ts';

export interface StatusRequest {
  readonly config: Config;
  /** The origin of the address. An address on the command line selects its indexer, regardless of its database. */
  readonly address: 'flag' | 'configured' | 'default';
}

/** The status and its source, or why no response was accepted. */
export type Source = { readonly at: string; readonly status: StatusDocument } | { readonly reason: string };

export async function findIndexer({ config, address }: StatusRequest): Promise<Source> {
  const candidateUrls = addresses(config, address);
  const { url } = config.database;
  const mismatches: string[] = [];
  for (const candidateUrl of candidateUrls) {
    const status = await fetchIndexerStatus(candidateUrl);
    if (status === undefined) continue;
    const isMatching =
      address === 'flag' || (url === undefined ? address === 'configured' : await isSameIndexer(config, url, status));
    if (isMatching) return { at: candidateUrl, status };
    mismatches.push(
      `the indexer at ${candidateUrl} writes to ${status.database ?? 'another database'}, schema "${status.schema}"`,
    );
  }
  return { reason: mismatches[0] ?? `no indexer responds at ${candidateUrls.join(' or ')}` };
}

function addresses({ indexer, database }: Config, address: StatusRequest['address']): readonly string[] {
  const { httpHost, httpPort, dataDir } = indexer;
  const hostName = httpHost === '0.0.0.0' || httpHost === '::' ? '127.0.0.1' : httpHost;
  const defaultUrl = `http://${hostName.includes(':') ? `[${hostName}]` : hostName}:${String(httpPort)}`;
  const demo = address === 'default' && database.url !== undefined ? readRunningDemoNote(dataDir)?.httpUrl : undefined;
  return demo === undefined || demo === defaultUrl ? [defaultUrl] : [demo, defaultUrl];
}

/**
 * Whether the indexer writes to this schema of this database. Addresses are not compared, because a server may have
 * several names; the session that holds the writer lock is unique.
 */
async function isSameIndexer(
  config: Config,
  url: string,
  { database, schema, lockHolder }: StatusDocument,
): Promise<boolean> {
  if (schema !== config.database.schema) return false;
  if (database === null || isSameDatabase(database, databaseLabel(url))) return true;
  if (lockHolder === null || lockHolder.since === null) return false;
  const { writerLockHolder } = await import('../../store/connection/inspection.ts');
  const indexerDatabase = await openFor(config, { command: 'status' });
  try {
    const holder = await writerLockHolder(indexerDatabase);
    return holder?.pid === lockHolder.pid && holder.since === lockHolder.since;
  } catch {
    return false;
  } finally {
    await indexerDatabase.close();
  }
}
