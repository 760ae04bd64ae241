/** Samples of memory, connections, log and disk during a piece. */
import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'pg';
import { rssMiB } from '../figures/process-cpu.ts';
import { schema } from '../postgres.ts';
import { childrenOf } from './processes.ts';

/** Values by name; a value that could not be read, because a process was restarting, is absent. */
export interface Sample {
  /** Seconds of traffic since the beginning of the soak. */
  readonly at: number;
  readonly piece: number;
  readonly values: Readonly<Record<string, number>>;
}

const mebibyte = 1024 ** 2;
const queryLimitMs = 5_000;

/** Tables whose rows retention removes. All other tables grow with active contracts, names and hours. */
const prunedTables = [
  'batches',
  'updates',
  'ended',
  'exercises',
  'archives',
  'reassignments',
  'topology_events',
  'completions',
  'submitters',
  'completion_ranges',
];

const sampleSql = `
  select (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as connections,
         (select sum(size) from pg_ls_waldir()) / ${String(mebibyte)} as wal_files,
         (pg_current_wal_lsn() - '0/0') / ${String(mebibyte)} as wal_position,
         pg_database_size(current_database()) / ${String(mebibyte)} as database,
         (select sum(pg_total_relation_size(c.oid)) from pg_class c
           where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r'
             and regexp_replace(c.relname, '_(p?[0-9]+|default)$', '') = any($1)) / ${String(mebibyte)} as pruned_tables,
         (select sum(n_live_tup) from pg_stat_user_tables where schemaname = '${schema}') as live_rows,
         (select sum(activated - deactivated) from ${schema}.active_counts) as active_contracts`;

export interface SampledProcesses {
  readonly databaseUrl: string;
  readonly indexerUrl: string;
  readonly pids: { readonly postgres: number; readonly indexer: number };
}

export async function takeSample(processes: SampledProcesses): Promise<Record<string, number>> {
  const [database, metrics] = await Promise.all([
    databaseValues(processes.databaseUrl),
    metricValues(processes.indexerUrl),
  ]);
  return { ...database, ...metrics, ...processValues(processes.pids) };
}

async function databaseValues(url: string): Promise<Record<string, number>> {
  const client = new Client({ connectionString: url, application_name: 'soak', query_timeout: queryLimitMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, string | null>>(sampleSql, [prunedTables]);
    return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value ?? 0)]));
  } catch {
    // The server is restarting.
    return {};
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Metrics of the indexer by the name of a sample. */
const metricNames: Readonly<Record<string, string>> = {
  heap: 'nodejs_heap_size_used_bytes',
  external: 'nodejs_external_memory_bytes',
  clients: 'indexer_changes_clients',
  checkpoint: 'indexer_checkpoint_offset',
  ledger_end: 'indexer_ledger_end_offset',
  pruned_rows: 'indexer_pruned_rows_total',
  renewals: 'indexer_access_token_renewals_total',
};

async function metricValues(url: string): Promise<Record<string, number>> {
  let text: string;
  try {
    text = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(queryLimitMs) })).text();
  } catch {
    return {};
  }
  const values: Record<string, number> = {};
  for (const [name, metric] of Object.entries(metricNames)) {
    const lines = [...text.matchAll(new RegExp(`^${metric}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
    if (lines.length === 0) continue;
    const sum = lines.reduce((total, [, value]) => total + Number(value), 0);
    if (Number.isFinite(sum)) values[name] = metric.endsWith('_bytes') ? sum / mebibyte : sum;
  }
  const { ledger_end: ledgerEnd, checkpoint } = values;
  if (ledgerEnd !== undefined && checkpoint !== undefined) values['lag'] = Math.max(0, ledgerEnd - checkpoint);
  return values;
}

function processValues(pids: SampledProcesses['pids']): Record<string, number> {
  const values: Record<string, number> = {};
  const rss = pids.indexer === 0 ? undefined : rssMiB(pids.indexer);
  if (rss !== undefined) values['rss'] = rss;
  const files = openFiles(pids.indexer);
  if (files !== undefined) values['files'] = files;
  const memory = postgresMemory(pids.postgres);
  if (memory !== undefined) values['postgres_private'] = memory;
  return values;
}

function openFiles(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${String(pid)}/fd`).length;
  } catch {
    return undefined;
  }
}

/** Private memory of all processes of the server, MiB, without its page cache, which fills after each start. */
function postgresMemory(postmaster: number): number | undefined {
  if (postmaster === 0) return undefined;
  try {
    return [postmaster, ...childrenOf(postmaster)].reduce((sum, pid) => sum + privateMiB(pid), 0);
  } catch {
    return undefined;
  }
}

function privateMiB(pid: number): number {
  try {
    const text = readFileSync(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
    return Number(/^Pss_Anon:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1_024;
  } catch {
    // The backend has ended.
    return 0;
  }
}
