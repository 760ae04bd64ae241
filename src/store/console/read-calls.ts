/** The reads that a request to the query page can make: a statement of a user, an explanation, or a search. */
import { escapeIdentifier, escapeLiteral } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { questionOf, type Admit } from '../reads/answer.ts';
import { runBoundedQuery, type BoundedResult, type ResultBounds } from '../reads/bounded-answer.ts';
import { readExplained, type Explained } from '../reads/explain.ts';
import { isLimited } from '../roles/secure-views.ts';
import { viewNames } from './view-names.ts';

export interface ReadCalls {
  /** Runs one statement. @throws IndexerError USAGE, QUERY_REFUSED, STORE_ errors; any error after `stop` is aborted */
  ask(statement: string, bounds: ResultBounds, stop: AbortSignal): Promise<BoundedResult>;
  /** Explains the object with this id, or at this offset. @throws IndexerError QUERY_REFUSED, STORE_ errors */
  explain(id: string): Promise<Explained>;
  /** Finds templates, interfaces and parties whose names contain this text. @throws as `ask` */
  search(text: string, stop: AbortSignal): Promise<BoundedResult>;
  /** Views and tables that the caller may read, with their columns and comments. @throws as `ask` */
  views(stop: AbortSignal): Promise<BoundedResult>;
}

const maxSearchHits = 20;
/** A template has a view for each of its choices, too. */
const viewBounds = { rows: 5_000, characters: 4_000_000 };
/** Maximum number of events of an update, or of rows of a contract's history. */
export const maxExplainedRows = 500;

/** Where the calls read. */
export interface ReadSource {
  readonly schema: string;
  /** Opens or reuses the database for one request. */
  readonly withDatabase: <T>(work: (database: Database) => Promise<T>) => Promise<T>;
  /** Gives rights to the transaction of a statement. */
  readonly admit?: Admit;
  /** Explains an id; by default with the login of the database. */
  readonly explain?: ReadCalls['explain'];
}

export function readCalls({ schema, withDatabase: withLoginDatabase, admit, explain }: ReadSource): ReadCalls {
  return {
    ask: async (statement, bounds, stop) => {
      const userStatement = statement.includes('\0') ? undefined : questionOf(statement);
      if (userStatement === undefined) throw notOneReadError();
      return withLoginDatabase(async (database) => {
        if (userStatement.explains) await refusePlan(database);
        return runBoundedQuery(database, userStatement, bounds, stop, admit);
      });
    },
    explain:
      explain ??
      ((id) => withLoginDatabase((database) => readExplained(database, { id, as: null, most: maxExplainedRows }))),
    search: (text, stop) => {
      const searchStatement = { statement: searchFor(text, schema), paged: true, explains: false };
      const bounds = { rows: 2 * maxSearchHits, characters: 100_000 };
      return withLoginDatabase((database) => runBoundedQuery(database, searchStatement, bounds, stop, admit));
    },
    views: (stop) => {
      const viewsStatement = { statement: viewNames(schema), paged: true, explains: false };
      return withLoginDatabase((database) => runBoundedQuery(database, viewsStatement, viewBounds, stop, admit));
    },
  };
}

function notOneReadError(): IndexerError {
  return new IndexerError('this is not one select, with, values, table, explain or show', {
    code: 'QUERY_REFUSED',
    remedy: 'enter one statement that reads',
  });
}

/**
 * Refuses `explain` for roles under row security, because a plan reveals the number of hidden rows and its estimates
 * are based on all rows.
 */
async function refusePlan(database: Database): Promise<void> {
  const isLimitedRole = await database.withClient((client) => isLimited(client, database.schema));
  if (!isLimitedRole) return;
  throw new IndexerError('explain reveals values of rows that a role limited to parties may not see', {
    code: 'QUERY_REFUSED',
    remedy: 'request the plan as a role that reads everything: ledger-indexer grant-reader ROLE, without --party',
  });
}

/**
 * Statement with the columns kind (template, interface or party), name, and number of active contracts. The number is
 * null for parties, because counting would need a search.
 */
function searchFor(text: string, schema: string): string {
  const explore = escapeIdentifier(readSchemas(schema).explore);
  const storage = escapeIdentifier(schema);
  const pattern = escapeLiteral(`%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
  const first = `limit ${String(maxSearchHits)}`;
  return `(select kind, template_fqn as name, case kind when 'template' then sum(active) end as active from ${explore}.templates
            where template_fqn ilike ${pattern} group by kind, template_fqn order by sum(active) desc, 2 ${first})
          union all
          (select distinct 'party', party, null::numeric
             from (select unnest(signatories || observers || witness_parties) as party from ${storage}.contract_parties) p
            where party ilike ${pattern} order by 2 ${first})`;
}
