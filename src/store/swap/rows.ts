/**
 * Copies rows that the next storage cannot read from a ledger: requests of operators, registered names, redactions, and
 * completions that the participant no longer returns.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import { removeRedacted } from '../history/staged-rows.ts';
import { tablesWhere } from '../tables/tables.ts';
import { increaseEpoch } from '../write/stream-row.ts';
import { searchIn } from './dependents.ts';

/** Names of the schemas of two storages of one stream. */
export interface Storages {
  /** The storage that has the rows. */
  readonly from: string;
  /** The storage that receives the rows. */
  readonly to: string;
}

/**
 * Tables that are copied completely and whose rows replace the rows of the target. They are also copied between
 * servers.
 */
export const fullyCopiedTables = tablesWhere(({ carried: copyMode }) => copyMode === 'wholly');

/**
 * Copies packages, which are read only once. A rebuild uses them to compute omitted fields, and requests only new
 * packages from the participant.
 */
export async function copyPackages(client: ClientBase, { from, to }: Storages): Promise<void> {
  await client.query(
    `insert into ${escapeIdentifier(to)}.packages select * from ${escapeIdentifier(from)}.packages on conflict do nothing`,
  );
}

/** Copies small tables and records of quarantined updates, during the swap. */
export async function copyTableRows(client: ClientBase, storages: Storages): Promise<void> {
  const [from, to] = [escapeIdentifier(storages.from), escapeIdentifier(storages.to)];
  await copyPackages(client, storages);
  for (const table of fullyCopiedTables) {
    await client.query(`delete from ${to}.${table}`);
    await client.query(`insert into ${to}.${table} select * from ${from}.${table}`);
  }
  await client.query(
    `update ${to}.quarantine q set attempts = o.attempts, attempted_at = o.attempted_at, quarantined_at = o.quarantined_at
       from ${from}.quarantine o where o."offset" = q."offset" and o.code = q.code`,
  );
  await client.query(
    `update ${to}.redactions r set contracts = o.contracts, exercises = o.exercises, labels = o.labels
       from ${from}.redactions o where o.redaction_id = r.redaction_id`,
  );
}

/** Number of redactions that the other storage lacks. */
export async function missingRedactions(client: ClientBase, storages: Storages): Promise<number> {
  const [from, to] = [escapeIdentifier(storages.from), escapeIdentifier(storages.to)];
  const { rows } = await client.query<{ missing: number }>(
    `select ((select count(*) from ${from}.redactions o
               where not exists (select from ${to}.redactions r where r.redaction_id = o.redaction_id))
           + (select count(*) from ${from}.redacted_contracts o
               where not exists (select from ${to}.redacted_contracts r
                                  where r.contract_id = o.contract_id and r.exercises = o.exercises))
           + (select count(*) from ${from}.redacted_exercises o
               where not exists (select from ${to}.redacted_exercises r
                                  where r."offset" = o."offset" and r.node_id = o.node_id)))::integer as missing`,
  );
  return rows[0]?.missing ?? 0;
}

/**
 * Applies redactions of this storage to the other one. The writer of the other storage then begins a new session, which
 * applies them too. Runs in the caller's transaction. It reads entire tables, so call it before any session has to
 * wait.
 */
export async function copyRedactions(client: ClientBase, storages: Storages): Promise<boolean> {
  if ((await missingRedactions(client, storages)) === 0) return false;
  const [from, to] = [escapeIdentifier(storages.from), escapeIdentifier(storages.to)];
  await searchIn(client, storages.to);
  const { rowCount } = await client.query('select from stream');
  if (rowCount !== 0) await increaseEpoch(client, undefined);
  await client.query(`insert into redactions select * from ${from}.redactions on conflict do nothing`);
  await client.query(
    `insert into redacted_contracts select * from ${from}.redacted_contracts
     on conflict (contract_id) do update set exercises = redacted_contracts.exercises or excluded.exercises`,
  );
  await client.query(`insert into redacted_exercises select * from ${from}.redacted_exercises on conflict do nothing`);
  await removeRedacted(client, to);
  await client.query(
    `update completions c set status_message = null, redaction_id = r.redaction_id
       from redacted_contracts r where r.contract_id = id_text(c.contract_id) and c.redaction_id is null`,
  );
  return true;
}

/**
 * Copies ranges of completions that were not read for the other storage.
 * @param rangeScope `earlier`: ranges from before the other storage began to read, which no longer change; `all`: all
 * ranges, while neither storage is written to
 */
export async function copyCompletions(
  client: ClientBase,
  storages: Storages,
  rangeScope: 'earlier' | 'all',
): Promise<void> {
  const [from, to] = [escapeIdentifier(storages.from), escapeIdentifier(storages.to)];
  const { rows } = await client.query<{ after: number; until: number }>(
    `with mine as (
       select coalesce(range_agg(int8range(from_offset, to_offset, '(]')), '{}') as read, min(from_offset) as begun
         from ${to}.completion_ranges),
     pieces as (
       select o.parties, o.reason, o.recorded_at, p.piece
         from ${from}.completion_ranges o cross join mine
        cross join lateral unnest(int8multirange(int8range(o.from_offset, o.to_offset, '(]')) - mine.read) p (piece)
        where $1 or upper(p.piece) - 1 <= mine.begun),
     noted as (
       insert into ${to}.completion_ranges as r (from_offset, to_offset, parties, reason, recorded_at)
       select lower(piece) - 1, upper(piece) - 1, parties, reason, recorded_at from pieces
       on conflict (from_offset) do update
          set to_offset = excluded.to_offset, parties = excluded.parties, reason = excluded.reason
       returning r.from_offset as after, r.to_offset as until)
     select after, until from noted order by 1`,
    [rangeScope === 'all'],
  );
  for (const { after, until: upToOffset } of rows) {
    await client.query(
      `insert into ${to}.completions select * from ${from}.completions where "offset" > $1 and "offset" <= $2
       on conflict do nothing`,
      [after, upToOffset],
    );
  }
  if (rows.length === 0) return;
  await client.query(`insert into ${to}.submitters select * from ${from}.submitters on conflict do nothing`);
}
