/**
 * Manages webhooks in the tables `webhooks`, `webhook_secrets` and `webhook_dead_letters`. Only owners of the tables
 * may do this.
 */
import type { ClientBase } from 'pg';
import type { ChangeCursor, ChangeSelection, Until } from '../../model/push/changes.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { DeadLetter, Webhook } from '../../model/push/webhook.ts';
import type { Database } from '../connection/database.ts';
import { findVersions } from '../changes/streamed-projection.ts';
import { holdWithin, withRetentionLock } from '../retention/holds.ts';
import { allowReadAs } from '../roles/read-as.ts';

export type AddedWebhook = Omit<Webhook, 'hookId' | 'secrets'> & {
  readonly secret: string;
  /** Changes after this offset are delivered; undefined for changes that are committed from now on. */
  readonly after: number | undefined;
};

export interface ListedWebhook {
  readonly name: string;
  readonly state: 'active' | 'disabled' | 'finished';
  /** URL of the receiver without its secret parts: nothing after the host. */
  readonly receiver: string;
  readonly role: string;
  readonly template: string | null;
  readonly party: string | null;
  readonly eventTypes: readonly string[];
  readonly projection: string | null;
  readonly interfaceName: string | null;
  readonly choices: readonly string[];
  readonly tokenEvents: readonly string[];
  readonly where: string | null;
  readonly until: string | null;
  readonly cursor: ChangeCursor | null;
  readonly checkpoint: number | null;
  readonly deadLetters: number;
  /** Why the newest dead letter was not accepted; null if there is none. */
  readonly lastProblem: string | null;
  /** Why the last attempt failed; null if it did not fail. `problemAt` is when this failure began. */
  readonly problem: string | null;
  readonly problemAt: Date | null;
  readonly missed: string | null;
}

/** Name of the webhook's row in `retention_holds`. */
export function holdOf(name: string): string {
  return `webhook:${name}`;
}

/**
 * Adds a webhook. Resolves to the offset after which it begins; null if it begins at the start of a history that does
 * not exist yet.
 * @throws IndexerError WEBHOOK_REFUSED if the name is in use or the indexer cannot read as the role, HOLD_REFUSED if
 * the history after the offset is not stored here, PROJECTION_NOT_FOUND, PROJECTION_REFUSED
 */
export function addWebhook(database: Database, webhook: AddedWebhook): Promise<number | null> {
  return withRetentionLock(database, async (client) => {
    const { name, url, secret, role, template, party, eventTypes, projection = null, selection, until } = webhook;
    const { problem } = await allowReadAs(client, database.schema, role);
    if (problem !== null) throw refusalError(problem.found, problem.remedy);
    if (projection !== null) await findVersions(client, database.schema, projection, role);
    const beginOffset = await resolveBegin(client, webhook.after);
    const { rowCount } = await client.query(
      `insert into webhooks (name, role_name, template, party, event_types, cursor_offset, projection, interface_name, choices,
                             token_events, filter, until)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict (name) do nothing`,
      [
        name,
        role,
        template,
        party,
        eventTypes,
        beginOffset,
        projection,
        ...selectionValues(selection),
        textOfUntil(until),
      ],
    );
    if (rowCount === 0)
      throw refusalError(
        `a webhook named ${name} already exists`,
        'use another name, or remove the existing webhook first',
      );
    await client.query('insert into webhook_secrets (name, url, secret) values ($1, $2, $3)', [name, url, secret]);
    await holdWithin(client, {
      name: holdOf(name),
      offset: beginOffset ?? undefined,
      reason: 'changes not delivered to the webhook yet',
    });
    return beginOffset;
  });
}

function selectionValues(selection: ChangeSelection | null | undefined): readonly unknown[] {
  const { interfaceName = null, choices = [], tokenEvents = [], where = null } = selection ?? {};
  return [interfaceName, choices, tokenEvents, where];
}

function textOfUntil(until: Until | null | undefined): string | null {
  if (until === null || until === undefined) return null;
  return 'offset' in until ? String(until.offset) : until.time;
}

async function resolveBegin(client: ClientBase, after: number | undefined): Promise<number | null> {
  if (after !== undefined) return after;
  const { rows } = await client.query<{ checkpoint: number | null }>('select checkpoint from stream');
  return rows[0]?.checkpoint ?? null;
}

/** All webhooks, ordered by name. */
export async function listWebhooks(database: Database): Promise<readonly ListedWebhook[]> {
  const rows = await database.withClient(async (client) => {
    const insertResult = await client.query<
      Omit<ListedWebhook, 'receiver' | 'cursor'> & { url: string | null } & DeliveryPosition
    >(
      `select w.name, w.state, s.url, w.role_name as role, w.template, w.party, w.event_types as "eventTypes", w.projection,
              w.interface_name as "interfaceName", w.choices, w.token_events as "tokenEvents", w.filter as "where", w.until, w.missed,
              w.problem, w.problem_at as "problemAt",
              w.cursor_offset as offset, w.cursor_node as node, (select checkpoint from stream) as checkpoint,
              (select count(*) from webhook_dead_letters d where d.name = w.name) as "deadLetters",
              (select d.problem from webhook_dead_letters d where d.name = w.name order by d.failed_at desc limit 1) as "lastProblem"
         from webhooks w left join webhook_secrets s on s.name = w.name order by w.name`,
    );
    return insertResult.rows;
  });
  return rows.map(({ url, offset, node, ...rest }) => ({
    ...rest,
    receiver: url === null ? 'not visible to this role' : new URL(url).origin,
    cursor: offset === null ? null : { offset, node },
  }));
}

interface DeliveryPosition {
  readonly offset: number | null;
  readonly node: number | null;
}

/** Removes a webhook with its dead letters and its hold on history. @throws IndexerError WEBHOOK_NOT_FOUND */
export function removeWebhook(database: Database, name: string): Promise<void> {
  return withRetentionLock(database, async (client) => {
    const { rowCount } = await client.query('delete from webhooks where name = $1', [name]);
    if (rowCount === 0) throw unknownWebhookError(name);
    await client.query('delete from webhook_secrets where name = $1', [name]);
    await client.query('delete from webhook_dead_letters where name = $1', [name]);
    await client.query('delete from retention_holds where name = $1', [holdOf(name)]);
  });
}

/**
 * Resumes deliveries to a disabled webhook from its last position.
 * @param after undelivered changes up to this offset are skipped, which is recorded in `missed`; undefined skips
 * nothing
 * @throws IndexerError WEBHOOK_NOT_FOUND; WEBHOOK_REFUSED if it has already received later changes; HOLD_REFUSED if the
 * history after its position is no longer stored here
 */
export function resumeWebhook(database: Database, name: string, after: number | undefined): Promise<void> {
  return withRetentionLock(database, async (client) => {
    const { rows } = await client.query<DeliveryPosition & { readonly ahead: boolean }>(
      `update webhooks w set state = 'active', moved_at = now(), problem = null, problem_at = null,
              cursor_offset = coalesce($2, w.cursor_offset), cursor_node = case when $2::bigint is null then w.cursor_node end,
              missed = case when $2 > coalesce(w.cursor_offset, 0)
                            then 'left out on resuming: history from offset ' || coalesce(w.cursor_offset, 0) || ' to ' || $2
                            else w.missed end
         from webhooks o where w.name = $1 and o.name = w.name
       returning w.cursor_offset as offset, w.cursor_node as node, coalesce(o.cursor_offset > $2, false) as ahead`,
      [name, after ?? null],
    );
    const [resumedRow] = rows;
    if (resumedRow === undefined) throw unknownWebhookError(name);
    if (resumedRow.ahead) throw refusalError(`${name} has already received later changes`, 'resume it without --after');
    const offset = resumedRow.offset === null ? undefined : resumedRow.offset - (resumedRow.node === null ? 0 : 1);
    await holdWithin(client, { name: holdOf(name), offset, reason: 'changes not delivered to the webhook yet' });
  });
}

/** The first `maxLetters` dead letters, in the order of history. @throws IndexerError WEBHOOK_NOT_FOUND */
export async function listDead(
  database: Database,
  name: string,
  maxLetters: number,
): Promise<readonly (DeadLetter & { readonly failedAt: Date })[]> {
  return database.withClient(async (client) => {
    await assertWebhookExists(client, name);
    const { rows } = await client.query<DeadLetter & { readonly failedAt: Date }>(
      `select "offset", node_id as node, contract_id as contract, attempts, problem, replay, failed_at as "failedAt"
         from webhook_dead_letters where name = $1 order by "offset", node_id limit $2`,
      [name, maxLetters],
    );
    return rows;
  });
}

/**
 * Requests that the dead letter at this position and earlier ones of its contract are delivered again, or all dead
 * letters if `position` is undefined. Resolves to their number.
 * @throws IndexerError WEBHOOK_NOT_FOUND
 */
export function replayDead(database: Database, name: string, position: ChangeCursor | undefined): Promise<number> {
  return changeDeadLetters(
    database,
    name,
    position,
    'update webhook_dead_letters d set replay = true',
    '(d."offset", d.node_id) <=',
  );
}

/**
 * Discards the dead letter at this position, or all dead letters if it is undefined; they are not delivered any more.
 * Resolves to their number.
 * @throws IndexerError WEBHOOK_NOT_FOUND
 */
export function discardDead(database: Database, name: string, position: ChangeCursor | undefined): Promise<number> {
  return changeDeadLetters(database, name, position, 'delete from webhook_dead_letters d', '(d."offset", d.node_id) =');
}

function changeDeadLetters(
  database: Database,
  name: string,
  position: ChangeCursor | undefined,
  statement: string,
  contractCondition: string,
): Promise<number> {
  return database.transaction(async (client) => {
    await assertWebhookExists(client, name);
    const sameContractSql = `d.contract_id = (select o.contract_id from webhook_dead_letters o
                                            where o.name = $1 and o."offset" = $2 and o.node_id = $3)`;
    const { rowCount } = await client.query(
      `${statement} where d.name = $1 and ($2::bigint is null or ${sameContractSql} and ${contractCondition} ($2, $3::integer))`,
      [name, position?.offset ?? null, position?.node ?? null],
    );
    return rowCount ?? 0;
  });
}

export async function assertWebhookExists(client: ClientBase, name: string): Promise<void> {
  const { rowCount } = await client.query('select from webhooks where name = $1', [name]);
  if (rowCount === 0) throw unknownWebhookError(name);
}

function unknownWebhookError(name: string): IndexerError {
  return new IndexerError(`there is no webhook named ${name}`, { code: 'WEBHOOK_NOT_FOUND' });
}

export function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'WEBHOOK_REFUSED', remedy });
}

/**
 * Moves webhooks back when the stream is reset to `to`. Later changes are delivered again. If they belong to a
 * different history, they have different ids. Null means that no history is left, and each webhook begins where the
 * next history begins.
 */
export async function truncateWebhooks(client: ClientBase, to: number | null): Promise<void> {
  await client.query('delete from webhook_dead_letters where $1::bigint is null or "offset" > $1', [to]);
  await client.query(
    `update webhooks set cursor_offset = $1, cursor_node = null, moved_at = now()
      where $1::bigint is null or cursor_offset > $1`,
    [to],
  );
  await client.query(
    `update retention_holds h set "offset" = coalesce($1, 0), moved_at = now()
       from webhooks w where h.name = 'webhook:' || w.name and h."offset" > coalesce($1, 0)`,
    [to],
  );
}
