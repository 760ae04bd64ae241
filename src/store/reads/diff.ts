/** Contracts created and ended between two positions in history, counted by template or listed one by one. */
import { escapeIdentifier, type ClientBase, type FieldDef } from 'pg';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { refuseUnknownParty } from './known-parties.ts';
import { inSnapshot } from './snapshot-read.ts';
import type { AccountStatementBound } from './account-statement.ts';

export interface DiffRequest {
  readonly from: AccountStatementBound;
  readonly to: AccountStatementBound;
  /** If set, lists the contracts of this template. If null, counts the contracts of all templates. */
  readonly template: string | null;
  /** Only contracts with this stakeholder; null for all contracts. */
  readonly party: string | null;
}

/** Values as Postgres formats them. */
export type DiffRow = readonly (string | null)[];

export interface Diff {
  readonly from: number;
  readonly to: number;
  readonly columns: readonly string[];
  /** Pages of rows. Iterate once, while `use` runs. */
  readonly pages: AsyncIterable<readonly DiffRow[]>;
}

/**
 * Reads the diff in one snapshot, and passes it to `use`.
 * @throws IndexerError QUERY_REFUSED if a bound, the template or the party is not known here; STORE_ errors
 */
export function readDiff(database: Database, request: DiffRequest, use: (diff: Diff) => Promise<void>): Promise<void> {
  const explore = escapeIdentifier(readSchemas(database.schema).explore);
  return inSnapshot(database, async (client) => {
    const from = await offsetOf(client, explore, request.from);
    const to = await offsetOf(client, explore, request.to);
    if (request.party !== null) await refuseUnknownParty(client, explore, request.party);
    const values = [from, to, request.template, request.party];
    const source = request.template === null ? 'diff' : 'diff_contracts';
    const order = request.template === null ? '1' : 'change, created_at_offset, contract_id';
    const cursor = `declare differing no scroll cursor for select * from ${explore}.${source}($1::bigint, $2::bigint, $3, $4) order by ${order}`;
    await client.query(cursor, values);
    const first = await next(client);
    await use({ from, to, columns: first.fields.map(({ name }) => name), pages: pagesOf(client, first.rows) });
  });
}

/** Resolves a bound to an offset. An unknown bound is refused with the message of `known_offset`. */
async function offsetOf(client: ClientBase, explore: string, requestedBound: AccountStatementBound): Promise<number> {
  const [type, value] =
    'offset' in requestedBound
      ? (['bigint', requestedBound.offset] as const)
      : (['timestamptz', requestedBound.time] as const);
  const { rows } = await client.query<{ at: number }>(`select ${explore}.known_offset($1::${type}) as at`, [value]);
  return rows[0]?.at ?? 0;
}

const pageRows = 1_000;

function next(
  client: ClientBase,
): Promise<{ readonly fields: readonly FieldDef[]; readonly rows: readonly DiffRow[] }> {
  return client.query<(string | null)[]>({
    text: `fetch ${String(pageRows)} from differing`,
    rowMode: 'array',
    types: textParsers,
  });
}

const textParsers = { getTypeParser: () => (text: string) => text } as never;

async function* pagesOf(client: ClientBase, first: readonly DiffRow[]): AsyncGenerator<readonly DiffRow[]> {
  for (let rows = first; rows.length > 0; rows = (await next(client)).rows) {
    yield rows;
    if (rows.length < pageRows) return;
  }
}
