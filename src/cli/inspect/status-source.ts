/**
 * Selects the indexer whose status is printed: the indexer that writes to the configured database, not any process on
 * the port.
 */
import type { Config } from '../../config/config.ts';
import type { StatusDocument } from '../../observe/health/health-tracker.ts';
import { databaseLabel, samePlace } from '../../store/connection/hosts.ts';
import { openFor } from '../database/with-database.ts';
import { askIndexer, notedDemo } from '../demo/running-demo.ts';

export interface Question {
  readonly config: Config;
  /** The origin of the address. An address on the command line selects its indexer, regardless of its database. */
  readonly address: 'flag' | 'configured' | 'default';
}

/** The status and its source, or why no response was accepted. */
export type Source = { readonly at: string; readonly status: StatusDocument } | { readonly reason: string };

export async function findIndexer({ config, address }: Question): Promise<Source> {
  const tried = addresses(config, address);
  const { url } = config.database;
  const mismatches: string[] = [];
  for (const at of tried) {
    const status = await askIndexer(at);
    if (status === undefined) continue;
    const meant =
      address === 'flag' || (url === undefined ? address === 'configured' : await isOf(config, url, status));
    if (meant) return { at, status };
    mismatches.push(
      `the indexer at ${at} writes to ${status.database ?? 'another database'}, schema "${status.schema}"`,
    );
  }
  return { reason: mismatches[0] ?? `no indexer responds at ${tried.join(' or ')}` };
}

function addresses({ indexer, database }: Config, address: Question['address']): readonly string[] {
  const { httpHost, httpPort, dataDir } = indexer;
  const named = httpHost === '0.0.0.0' || httpHost === '::' ? '127.0.0.1' : httpHost;
  const configured = `http://${named.includes(':') ? `[${named}]` : named}:${String(httpPort)}`;
  const demo = address === 'default' && database.url !== undefined ? notedDemo(dataDir)?.httpUrl : undefined;
  return demo === undefined || demo === configured ? [configured] : [demo, configured];
}

/**
 * Whether the indexer writes to this schema of this database. Addresses are not compared, because a server may have
 * several names; the session that holds the writer lock is unique.
 */
async function isOf(config: Config, url: string, { database, schema, lockHolder }: StatusDocument): Promise<boolean> {
  if (schema !== config.database.schema) return false;
  if (database === null || samePlace(database, databaseLabel(url))) return true;
  if (lockHolder === null || lockHolder.since === null) return false;
  const { writerLockHolder } = await import('../../store/connection/inspection.ts');
  const stored = await openFor(config, { command: 'status' });
  try {
    const holder = await writerLockHolder(stored);
    return holder?.pid === lockHolder.pid && holder.since === lockHolder.since;
  } catch {
    return false;
  } finally {
    await stored.close();
  }
}
