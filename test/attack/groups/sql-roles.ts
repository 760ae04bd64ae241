/** Attacks with the stolen passwords of the full reader, the writer and the redactor. */
import type { Client } from 'pg';
import { attempt as tryStatement, attempts as statements } from '../../security/attempts.ts';
import { verdict, type Attempt, type Group } from '../attempt.ts';
import { waitFor } from '../../support/wait-for.ts';
import { emptyRow, refusedRow } from '../wire/rows.ts';
import type { Login, World } from '../world/world.ts';

async function runInTransaction<T>(world: World, login: Login, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await world.session(login);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs all statements that the role does not need. */
const table = (login: Login, kind: string): Attempt => ({
  id: `${login}-statements-it-does-not-need`,
  what: 'every statement of test/security/attempts.ts that the role does not need',
  expected: 'SQLSTATE 42501 for each',
  run: (world) =>
    runInTransaction(world, login, async (client) => {
      const executedSql: string[] = [];
      for (const { sql, may: allowedLogins = [] } of statements) {
        if (allowedLogins.includes(kind)) continue;
        if ((await tryStatement(client, sql)) !== '42501') executedSql.push(sql);
      }
      return verdict(
        executedSql.length === 0,
        executedSql.length === 0 ? 'all refused' : `not refused: ${executedSql.join('; ')}`,
      );
    }),
});

const countedTables = ['contracts', 'coverage', 'contract_parties', 'templates', 'updates', 'exercises', 'archives'];
// The indexer may move rows from one table to the other between two counts.
const states = '(select count(*) from ledger.live)::int + (select count(*) from ledger.ended)::int as states';
const count = `select ${states}, ${countedTables.map((name) => `(select count(*) from ledger.${name})::int as ${name}`).join(', ')}`;

/** Runs these statements in one transaction that is rolled back. No history table may have lost rows. */
const keepsTables = (login: Login, id: string, description: string, texts: readonly string[]): Attempt => ({
  id: `${login}-${id}`,
  what: description,
  expected: 'no table of history has fewer rows',
  run: (world) =>
    runInTransaction(world, login, async (client) => {
      await client.query('begin');
      const [countsBefore] = (await client.query<Record<string, number>>(count)).rows;
      const outcomes: string[] = [];
      for (const text of texts) {
        await client.query('savepoint s');
        try {
          const { rows } = await client.query<Record<string, unknown>>(text);
          outcomes.push(JSON.stringify(rows).slice(0, 60));
        } catch (error) {
          outcomes.push(String(Reflect.get(error as object, 'code')));
          await client.query('rollback to s');
        }
      }
      const [countsAfter] = (await client.query<Record<string, number>>(count)).rows;
      await client.query('rollback');
      const reducedTables = ['states', ...countedTables].filter(
        (name) => Number(countsAfter?.[name]) < Number(countsBefore?.[name]),
      );
      return verdict(
        reducedTables.length === 0,
        `${outcomes.join(', ')}; fewer rows in: ${reducedTables.join(', ') || 'none'}`,
      );
    }),
});

const clearSeedSql = 'select ledger.clear_unfinished_seed(epoch) as cleared from ledger.stream';

const writerAttempts: readonly Attempt[] = [
  table('writer', 'writer'),
  keepsTables('writer', 'clears-the-seed', 'calls the function that clears a seed', [clearSeedSql]),
  keepsTables('writer', 'clears-after-unpublishing', 'marks the seed as unpublished, and clears it', [
    'update ledger.stream set seeded_at = null, checkpoint = null',
    clearSeedSql,
  ]),
  keepsTables('writer', 'clears-after-new-epoch', 'begins a new epoch, and clears it', [
    'update ledger.stream set epoch = epoch + 1, seeded_at = null',
    clearSeedSql,
  ]),
  keepsTables('writer', 'clears-every-epoch', 'clears epochs that it names', [
    'update ledger.stream set seeded_at = null',
    'select ledger.clear_unfinished_seed(e) from generate_series(0, 5) e',
  ]),
  keepsTables('writer', 'clears-with-a-path', 'clears with another search path', [
    'set local search_path = pg_temp, ledger',
    'update ledger.stream set seeded_at = null',
    clearSeedSql,
  ]),
  keepsTables('writer', 'prunes', 'calls the functions that prune and redact', [
    `select p.oid::regprocedure from pg_proc p where pronamespace = 'ledger'::regnamespace and prosecdef`,
    'delete from ledger.updates',
    'delete from ledger.contracts',
    'delete from ledger.exercises',
    'delete from ledger.archives',
    'truncate ledger.updates cascade',
  ]),
  keepsTables('writer', 'merges-away', 'deletes by MERGE and by a query with data changes', [
    'merge into ledger.contracts c using (select 1) x on true when matched then delete',
    'with gone as (delete from ledger.updates returning 1) select count(*) from gone',
  ]),
  refusedRow(
    'writer',
    'rewrites-a-contract',
    'overwrites contents',
    `insert into ledger.contracts select * from ledger.contracts limit 1 on conflict do nothing; update ledger.contracts set payload = '{}'`,
  ),
  refusedRow('writer', 'owner-role', 'becomes the owner', (w) => `set role ${w.role('owner')}`),
  refusedRow('writer', 'migrator-role', 'becomes the migrator', (w) => `set role ${w.role('migrator')}`),
  refusedRow('writer', 'superuser', 'makes itself a superuser', (w) => `alter role ${w.role('writer')} superuser`),
  refusedRow('writer', 'rule', 'makes a rule', 'create rule mine as on insert to ledger.updates do instead nothing'),
  refusedRow('writer', 'trigger-off', 'turns triggers off', 'alter table ledger.contracts disable trigger all'),
  refusedRow(
    'writer',
    'replication-role',
    'turns triggers off for its session',
    'set session_replication_role = replica',
  ),
  refusedRow('writer', 'filter', 'extends the filter of the stream', `update ledger.stream set filter = '{}'`),
  refusedRow('writer', 'tokens', 'makes a token', `update ledger.reader_tokens set role_name = 'x'`),
  refusedRow('writer', 'program', 'runs a program on the server', `copy (select 1) to program 'id'`),
];

/** The redactor may increase the epoch, so that a running writer notices a redaction. */
const lastEpoch: Attempt = {
  id: 'redactor-last-epoch',
  what: 'sets the epoch to the greatest number, after which there is no other',
  expected: 'refused, or the indexer continues',
  run: async (world) => {
    const { rows } = await world.admin.query<{ epoch: string; checkpoint: string }>(
      'select epoch, checkpoint from ledger.stream',
    );
    const [countsBefore] = rows;
    const refusal = await runInTransaction(world, 'redactor', async (client) => {
      await client.query('begin read write');
      try {
        await client.query('update ledger.stream set epoch = 9223372036854775807');
        await client.query('commit');
        return undefined;
      } catch (error) {
        return String(Reflect.get(error as object, 'code'));
      }
    });
    if (refusal !== undefined) return verdict(true, `SQLSTATE ${refusal}`);
    try {
      await waitFor('the checkpoint moves', async () => {
        const now = await world.admin.query<{ checkpoint: string }>('select checkpoint from ledger.stream');
        return Number(now.rows[0]?.checkpoint) > Number(countsBefore?.checkpoint) + 10 ? true : undefined;
      });
      return verdict(true, 'the indexer continues');
    } catch {
      const status = await (await fetch(`${world.httpUrl}/status`)).text();
      return verdict(false, `carried out, and the checkpoint does not move: ${status}`);
    } finally {
      await world.admin.query('update ledger.stream set epoch = $1 where epoch > 9223372036854775000', [
        countsBefore?.epoch,
      ]);
    }
  },
};

const redactorAttempts: readonly Attempt[] = [
  table('redactor', 'redactor'),
  refusedRow(
    'redactor',
    'forges-payload',
    'writes a payload that is not null',
    `update ledger.contracts set payload = '{"a":1}'`,
    ['42501', '23514', 'P0001'],
  ),
  refusedRow(
    'redactor',
    'forges-key',
    'writes a contract key',
    `update ledger.contracts set contract_key = '{"a":1}'`,
    ['42501', '23514', 'P0001'],
  ),
  refusedRow(
    'redactor',
    'forges-argument',
    'writes an argument of an exercise',
    `update ledger.exercises set argument = '{"a":1}'`,
    ['42501', '23514', 'P0001'],
  ),
  refusedRow(
    'redactor',
    'forges-result',
    'writes a result of an exercise',
    `update ledger.exercises set result = '1'`,
    ['42501', '23514', 'P0001'],
  ),
  refusedRow(
    'redactor',
    'forges-by-merge',
    'writes a payload by MERGE',
    `merge into ledger.contracts c using (select 1) x on true when matched then update set payload = '{"a":1}'`,
    ['42501', '23514', 'P0001', '42601'],
  ),
  refusedRow(
    'redactor',
    'forges-null-of-json',
    'replaces a payload by the null of JSON',
    `update ledger.contracts set payload = 'null'`,
  ),
  refusedRow(
    'redactor',
    'notes-without-removing',
    'notes a redaction and leaves the contents, which are passed over from then on',
    `insert into ledger.redactions (redaction_id, subject, reason, requested_by) values ('mine', 'party', 'x', session_user);
     update ledger.contracts set redaction_id = 'mine'`,
  ),
  refusedRow(
    'redactor',
    'redacts-as-another',
    'notes a redaction in the name of another login',
    `insert into ledger.redactions (redaction_id, subject, reason, requested_by) values ('mine', 'party', 'x', 'postgres')`,
  ),
  refusedRow(
    'redactor',
    'lets-exercises-back-in',
    'gives the note of a redacted exercise to an update that does not exist',
    `insert into ledger.redacted_exercises select max("offset"), 0, 'u', 'x' from ledger.updates;
     update ledger.redacted_exercises set update_id = 'v'`,
  ),
  refusedRow(
    'redactor',
    'last-pruned-to-offset',
    'marks all history as pruned, to the greatest offset',
    'update ledger.stream set pruned_to_offset = 9223372036854775807',
  ),
  refusedRow(
    'redactor',
    'pruned-to-offset-back',
    'marks pruned history as stored again',
    'update ledger.stream set pruned_to_offset = checkpoint; update ledger.stream set pruned_to_offset = 0',
  ),
  refusedRow(
    'redactor',
    'inserts-history',
    'adds an update',
    'insert into ledger.updates select * from ledger.updates limit 1',
  ),
  refusedRow('redactor', 'trigger-off', 'turns the trigger off', 'alter table ledger.contracts disable trigger all'),
  refusedRow(
    'redactor',
    'replication-role',
    'turns triggers off for its session',
    'set session_replication_role = replica',
  ),
  refusedRow('redactor', 'checkpoint', 'moves the checkpoint', 'update ledger.stream set checkpoint = 1'),
  lastEpoch,
  emptyRow('redactor', 'webhook-secrets', 'reads signing secrets', 'select * from ledger.webhook_secrets'),
  emptyRow('redactor', 'reader-tokens', 'reads hashes of tokens', 'select * from ledger.reader_tokens'),
];

const readerAttempts: readonly Attempt[] = [
  table('reader', 'reader'),
  emptyRow('reader', 'webhook-secrets', 'reads signing secrets', 'select * from ledger.webhook_secrets'),
  emptyRow('reader', 'reader-tokens', 'reads hashes of tokens', 'select * from ledger.reader_tokens'),
  emptyRow('console', 'webhook-secrets', 'reads signing secrets', 'select * from ledger.webhook_secrets'),
  emptyRow('console', 'reader-tokens', 'reads hashes of tokens', 'select * from ledger.reader_tokens'),
  refusedRow(
    'reader',
    'read-write',
    'writes in a transaction that it sets to read and write',
    'insert into ledger.synchronizers values (998, $$x$$)',
  ),
  refusedRow(
    'reader',
    'ends-the-writer',
    'ends sessions of the writer',
    (w) => `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${w.role('writer')}'`,
  ),
  refusedRow('reader', 'role-writer', 'becomes the writer', (w) => `set role ${w.role('writer')}`),
];

export const sqlReader: Group = {
  name: 'sql-as-reader',
  what: 'statements of the full reader',
  quick: true,
  attempts: readerAttempts,
};
export const sqlWriter: Group = {
  name: 'sql-as-writer',
  what: 'statements of the writer',
  quick: true,
  attempts: writerAttempts,
};
export const sqlRedactor: Group = {
  name: 'sql-as-redactor',
  what: 'statements of the redactor',
  quick: true,
  attempts: redactorAttempts,
};
