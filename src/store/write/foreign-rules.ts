/**
 * Finds constraints, triggers and expression indexes on the tables of a stream that the migrations did not create and
 * that can reject a row. An update rejected by one of them is valid, so it is not quarantined.
 */
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { tablesWhere } from '../tables/tables.ts';

/** Names of the rules that the migrations create. */
const ownRuleNames: readonly string[] = [
  'updates_update_id',
  'updates_command_id',
  'contracts_key',
  'live_contract',
  'live_template',
  'live_unhosted',
  'ended_contract',
  'ended_reassigned',
  'exercises_contract',
  'archives_contract',
  'reassignments_contract',
  'completions_rejected',
  'completions_contract',
  'contracts_origin_check',
  'ended_ended_by_check',
  'reassignments_kind_check',
  'only_remove',
  'next_epoch',
  'note_changed_contracts',
  'note_changed_offsets',
  'note_changed_ends',
  'note_changed_hosting',
  'note_ended_unhosted',
];

/** Tables to which updates are written. */
const writtenTables: readonly string[] = tablesWhere(({ isWritten }) => isWritten === true);

/** A rule, and the statement that removes it. */
export interface ForeignRule {
  readonly name: string;
  readonly removal: string;
}

/**
 * SQL: foreign rules. Indexes without an expression or condition compute nothing that can fail, so they are excluded.
 * So are the indexes of `index create`, which are named `own_…` and use a method that accepts every text.
 */
const rules = `
select 'index ' || x.oid::regclass::text as name, 'drop index concurrently ' || x.oid::regclass::text as removal
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
  join pg_am m on m.oid = x.relam
 where t.relnamespace = to_regnamespace(quote_ident($1)) and t.relname = any ($2) and x.relname <> all ($3)
   and i.indislive and (i.indexprs is not null or i.indpred is not null)
   and not (m.amname in ('spgist', 'hash') and x.relname ~ '^own_.*_[0-9a-f]{8}$')
union all
select format('constraint %I of %s', c.conname, t.oid::regclass),
       format('alter table %s drop constraint %I', t.oid::regclass, c.conname)
  from pg_constraint c join pg_class t on t.oid = c.conrelid
 where t.relnamespace = to_regnamespace(quote_ident($1)) and t.relname = any ($2) and c.conname <> all ($3)
   and c.contype in ('c', 'x', 'f')
union all
select format('trigger %I of %s', g.tgname, t.oid::regclass), format('drop trigger %I on %s', g.tgname, t.oid::regclass)
  from pg_trigger g join pg_class t on t.oid = g.tgrelid
 where t.relnamespace = to_regnamespace(quote_ident($1)) and t.relname = any ($2) and g.tgname <> all ($3)
   and not g.tgisinternal and g.tgenabled <> 'D'
 order by 1`;

/** Foreign rules that could refuse a row, on the tables to which updates are written. */
export async function foreignRules(database: Database): Promise<readonly ForeignRule[]> {
  return database.transaction(async (client) => {
    // With this search path, names are printed with their schema, so that the statement can run anywhere.
    await client.query('set local search_path to pg_catalog');
    const { rows } = await client.query<ForeignRule>(rules, [database.schema, writtenTables, ownRuleNames]);
    return rows;
  });
}

/** The error of an update that was written alone, with an explanation if a foreign rule may have refused it. */
export async function explainForeign(database: Database, error: IndexerError): Promise<IndexerError> {
  if (!mayBeForeignRule(error)) return error;
  // If this fails, the failure of the update is reported without an explanation.
  const foreignRuleList = await foreignRules(database).catch(() => []);
  const { constraint } = error.facts;
  const namedRules = foreignRuleList.filter(
    ({ name }) => typeof constraint === 'string' && namesConstraint(name, constraint),
  );
  const suspectRules = namedRules.length > 0 ? namedRules : foreignRuleList;
  if (suspectRules.length === 0) return error;
  const names = suspectRules.map(({ name }) => name).join(', ');
  const removals = suspectRules.map(({ removal }) => `\`${removal}\``).join(', ');
  const removal =
    suspectRules.length === 1 ? `run ${removals}, or change it` : `drop or change what refuses it: ${removals}`;
  return new IndexerError(
    `expected no foreign rule that refuses a row, found ${names} (SQLSTATE ${String(error.facts['sqlstate'])})`,
    {
      code: 'STORE_CONSTRAINT',
      exitCode: ExitCode.configuration,
      remedy: `${removal}; the update is valid`,
      facts: error.facts,
      cause: error,
    },
  );
}

/**
 * Whether a foreign rule can be the cause. Foreign rules are evaluated after all values were parsed for their columns.
 * Bytes that are not text cannot be stored in any table, so they are not the fault of a rule.
 */
function mayBeForeignRule({ code, facts }: IndexerError): boolean {
  if (code === 'STORE_CONSTRAINT') return facts['sqlstate'] !== '23505';
  if (code !== 'STORE_DATA_REFUSED' || facts['sqlstate'] === undefined) return false;
  return facts['column'] === undefined && !['22021', '22P03'].includes(String(facts['sqlstate']));
}

function namesConstraint(rule: string, constraint: string): boolean {
  return rule.startsWith(`constraint ${constraint} of `) || rule.startsWith(`constraint "${constraint}" of `);
}
