/**
 * Reads the server settings that determine the cost of a long history. None of them is required. The indexer changes
 * none of them, because they belong to the operator of the server. The values are those of a new session of this role,
 * before the indexer applies its session settings.
 */
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';

const names = [
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'wal_compression',
  'random_page_cost',
  'jit',
] as const;

export type ServerSettingName = (typeof names)[number];

export interface ServerSetting {
  /** The value as Postgres displays it, e.g. `128MB`, `5min`, `on`. */
  readonly formatted: string;
  /** The value in bytes or milliseconds, or as a plain number; NaN for a word. */
  readonly amount: number;
  /** Allowed words; empty for numbers and switches. */
  readonly words: readonly string[];
  /**
   * Whether the value was set on the command line of the server: then no statement can change it for the entire server.
   */
  readonly isSetAtServerStart: boolean;
}

export interface ServerSettings {
  /** The database of this connection, quoted for use in statements. */
  readonly database: string;
  /** Returns undefined if this server does not have the setting. Some managed services lack settings. */
  readonly get: (name: ServerSettingName) => ServerSetting | undefined;
  /** Whether the server was built with LLVM and can compile plans. */
  readonly canCompile: boolean;
}

interface Row {
  readonly name: string;
  readonly value: string;
  readonly unit: string | null;
  readonly shown: string;
  readonly words: readonly string[] | null;
  readonly givenAtStart: boolean;
}

/** The indexer's sessions do not change any setting that has a unit, so the current values apply to all sessions. */
const settingRows = `
select name, reset_val as value, unit, case when unit is null then reset_val else current_setting(name) end as shown,
       enumvals as words, source = 'command line' as "givenAtStart"
  from pg_settings where name = any($1)`;

export async function serverSettings(database: Database): Promise<ServerSettings> {
  return database.transaction(async (client) => {
    const { rows } = await client.query<Row>(settingRows, [names]);
    const settingsByName = new Map(rows.map((row) => [row.name, settingOf(row)]));
    return { get: (name) => settingsByName.get(name), ...(await facts(client)) };
  });
}

/** Postgres checks for LLVM only if jit is on, so jit is turned on first. */
async function facts(client: PoolClient): Promise<Pick<ServerSettings, 'database' | 'canCompile'>> {
  await client.query('set local jit = on');
  const { rows } = await client.query<{ database: string; canCompile: boolean }>(
    'select quote_ident(current_database()) as database, pg_jit_available() as "canCompile"',
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('the server answers a select without a row');
  return row;
}

const unitFactors: Readonly<Record<string, number>> = {
  B: 1,
  kB: 2 ** 10,
  MB: 2 ** 20,
  GB: 2 ** 30,
  ms: 1,
  s: 1_000,
  min: 60_000,
};

/** A unit is for example `MB`, `s`, or `8kB` (the size of a page). */
function settingOf({
  value,
  unit,
  shown: displayValue,
  words: allowedValues,
  givenAtStart: isStartSetting,
}: Row): ServerSetting {
  const [, count = '', unitName = ''] = /^(\d*)([A-Za-z]*)$/.exec(unit ?? '') ?? [];
  const factor = unitName === '' ? 1 : (unitFactors[unitName] ?? Number.NaN);
  return {
    formatted: displayValue,
    amount: Number(value) * Number(count || 1) * factor,
    words: allowedValues ?? [],
    isSetAtServerStart: isStartSetting,
  };
}
