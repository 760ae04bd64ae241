/** Stores the progress of webhook deliveries. Each change is one statement, and needs only the rights of the writer. */
import { isUnselective, parseUntil } from '../../config/selection/change-selection.ts';
import type { ChangeCursor, ChangeSelection } from '../../model/push/changes.ts';
import type { DeadLetter, Webhook, WebhookState } from '../../model/push/webhook.ts';
import { readChanges } from '../changes/read-changes.ts';
import { Selections } from '../changes/selections.ts';
import type { Database } from '../connection/database.ts';

/**
 * Maximum characters of one page. A receiver accepts thousands of events per second, and the memory of one webhook is
 * limited separately.
 */
const pageCharacters = 4_000_000;

/** Implements the port of the deliveries. @param database the caller closes it */
export function webhookProgress(database: Database) {
  const selections = new Selections();
  return {
    standing: () => readWebhookStates(database),
    active: () => active(database),
    cursor: (webhook: Webhook) => cursor(database, webhook),
    changes: (request: Parameters<typeof readChanges>[1], rows: number) =>
      readChanges(database, request, rows, pageCharacters, selections),
    move: (webhook: Webhook, from: ChangeCursor | null, to: ChangeCursor) => move(database, webhook, from, to),
    bury: (webhook: Webhook, deadLetters: readonly DeadLetter[]) => storeDeadLetters(database, webhook, deadLetters),
    dig: ({ name }: Webhook, { offset, node }: Pick<DeadLetter, 'offset' | 'node'>) =>
      run(database, 'delete from webhook_dead_letters where name = $1 and "offset" = $2 and node_id = $3', [
        name,
        offset,
        node,
      ]),
    deadContracts: (webhook: Webhook) => deadContracts(database, webhook),
    replays: (webhook: Webhook, maxLetters: number) => readReplays(database, webhook, maxLetters),
    disable: (webhook: Webhook) => end(database, webhook, 'disabled'),
    finish: (webhook: Webhook) => end(database, webhook, 'finished'),
    noteProblem: ({ hookId }: Webhook, problem: string | null) =>
      run(
        database,
        `update webhooks set problem = $2, problem_at = case when $2 is not null then now() end
          where hook_id = $1 and problem is distinct from $2`,
        [hookId, problem],
      ),
    noteMissed: ({ hookId }: Webhook, missed: string) =>
      run(database, 'update webhooks set missed = $2 where hook_id = $1', [hookId, missed]),
  };
}

async function rowsOf<R extends object>(database: Database, text: string, values: unknown[]): Promise<readonly R[]> {
  return database.withClient(async (client) => (await client.query<R>(text, values)).rows);
}

async function run(database: Database, text: string, values: unknown[]): Promise<void> {
  await rowsOf(database, text, values);
}

function readWebhookStates(database: Database): Promise<readonly WebhookState[]> {
  return rowsOf<WebhookState>(
    database,
    `select w.name, w.state, w.cursor_offset as "cursorOffset",
            (select count(*) from webhook_dead_letters d where d.name = w.name) as "deadLetters"
       from webhooks w order by w.name`,
    [],
  );
}

type StoredWebhook = Omit<Webhook, 'selection' | 'until'> & {
  readonly selection: ChangeSelection;
  readonly until: string | null;
};

async function active(database: Database): Promise<readonly Webhook[]> {
  const rows = await rowsOf<StoredWebhook>(
    database,
    `select w.name, w.hook_id as "hookId", s.url, array_remove(array[s.secret, s.previous_secret], null) as secrets,
            w.role_name as role, w.template, w.party, w.event_types as "eventTypes", w.projection, w.until,
            json_build_object('interfaceName', w.interface_name, 'choices', w.choices, 'tokenEvents', w.token_events,
                              'where', w.filter) as selection
       from webhooks w join webhook_secrets s on s.name = w.name where w.state = 'active' order by w.name`,
    [],
  );
  return rows.map(({ selection, until, ...webhook }) => ({
    ...webhook,
    selection: isUnselective(selection) ? null : selection,
    until: until === null ? null : (parseUntil(until) ?? null),
  }));
}

async function cursor(database: Database, { hookId }: Webhook): Promise<ChangeCursor | null | undefined> {
  const [row] = await rowsOf<{ offset: number | null; node: number | null }>(
    database,
    `select cursor_offset as offset, cursor_node as node from webhooks where hook_id = $1 and state = 'active'`,
    [hookId],
  );
  if (row === undefined) return undefined;
  return row.offset === null ? null : { offset: row.offset, node: row.node };
}

/**
 * Moves the position of a webhook and its hold. The hold never passes a dead letter, whose change is read again when it
 * is replayed.
 */
async function move(
  database: Database,
  { hookId }: Webhook,
  from: ChangeCursor | null,
  to: ChangeCursor,
): Promise<boolean> {
  const [row] = await rowsOf<{ moved: boolean }>(
    database,
    `with moved as (
       update webhooks set cursor_offset = $4, cursor_node = $5, moved_at = now()
        where hook_id = $1 and cursor_offset is not distinct from $2 and cursor_node is not distinct from $3
       returning name),
     needed as (
       select m.name, least($4::bigint - case when $5::integer is null then 0 else 1 end,
                            (select min(d."offset") - 1 from webhook_dead_letters d where d.name = m.name)) as after
         from moved m),
     held as (
       update retention_holds h set "offset" = n.after, moved_at = now()
         from needed n where h.name = 'webhook:' || n.name and h."offset" < n.after)
     select exists (select from moved) as moved`,
    [hookId, from?.offset ?? null, from?.node ?? null, to.offset, to.node],
  );
  return row?.moved === true;
}

async function storeDeadLetters(
  database: Database,
  { name }: Webhook,
  deadLetters: readonly DeadLetter[],
): Promise<void> {
  if (deadLetters.length === 0) return;
  await run(
    database,
    `insert into webhook_dead_letters (name, "offset", node_id, contract_id, attempts, problem, replay)
     select $1, l.* from unnest($2::bigint[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::boolean[]) l
     on conflict (name, "offset", node_id) do update
        set attempts = webhook_dead_letters.attempts + excluded.attempts, problem = excluded.problem, replay = excluded.replay,
            failed_at = excluded.failed_at`,
    [
      name,
      deadLetters.map(({ offset }) => offset),
      deadLetters.map(({ node }) => node),
      deadLetters.map(({ contract }) => contract),
      deadLetters.map(({ attempts }) => attempts),
      deadLetters.map(({ problem }) => problem),
      deadLetters.map(({ replay: isReplayed }) => isReplayed),
    ],
  );
}

async function deadContracts(database: Database, { name }: Webhook): Promise<ReadonlySet<string>> {
  const rows = await rowsOf<{ contract: string }>(
    database,
    'select distinct contract_id as contract from webhook_dead_letters where name = $1',
    [name],
  );
  return new Set(rows.map(({ contract }) => contract));
}

function readReplays(database: Database, { name }: Webhook, maxLetters: number): Promise<readonly DeadLetter[]> {
  return rowsOf<DeadLetter>(
    database,
    `select d."offset", d.node_id as node, d.contract_id as contract, d.attempts, d.problem, d.replay
       from webhook_dead_letters d
      where d.name = $1 and d.replay and not exists (
              select from webhook_dead_letters b where b.name = d.name and b.contract_id = d.contract_id and not b.replay
                 and (b."offset", b.node_id) < (d."offset", d.node_id))
      order by d."offset", d.node_id limit $2`,
    [name, maxLetters],
  );
}

/** Ends deliveries. History is not held any longer. */
function end(database: Database, { hookId }: Webhook, state: 'disabled' | 'finished'): Promise<void> {
  return run(
    database,
    `with ended as (update webhooks set state = $2 where hook_id = $1 returning name)
     delete from retention_holds h using ended g where h.name = 'webhook:' || g.name`,
    [hookId, state],
  );
}
