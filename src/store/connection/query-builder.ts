/**
 * Statements over the tables, built with Kysely so that a renamed column or a changed type fails the build. Kysely only
 * writes the SQL: statements are sent by a lent client as any other, so timeouts, timing, transactions and error
 * handling are those of `Database`.
 */
import { createRequire } from 'node:module';
import type * as KyselyPackage from 'kysely';
import type {
  CompiledQuery,
  DatabaseConnection,
  ExpressionBuilder,
  QueryCreator,
  QueryResult,
  Updateable,
} from 'kysely';
import type { ClientBase } from 'pg';
import type { Tables } from './tables.ts';

/**
 * The package has two builds of about 260 files each. Loaded with `require`, its CommonJS build takes half of the CPU
 * time that its ES modules take at every start of a command.
 */
const { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } = createRequire(
  import.meta.url,
)('kysely') as typeof KyselyPackage;

/** A template tag for parts of a statement in SQL. */
export { sql };

/**
 * Builds statements that are sent by this client; unqualified names are those of its search path. Throws as the driver
 * does.
 */
export function tablesOf(client: ClientBase): QueryCreator<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new ClientDriver(client),
      createIntrospector: (kysely) => new PostgresIntrospector(kysely),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/** A selection: the number of rows, as `count`. */
export function countRows<T extends keyof Tables>(from: ExpressionBuilder<Tables, T>) {
  return from.fn.countAll<number>().as('count');
}

/**
 * A limit of one row, as a literal: the sessions plan without parameter values (session-settings.ts), and a limit given
 * as a parameter is estimated as a tenth of the rows.
 */
export const one = sql<number>`1`;

/**
 * Columns of a table with new values, if they are not a literal in the call. The compiler only checks literals of a
 * known type for unknown columns: not spread objects, nor results of a callback.
 */
export type Change<T extends keyof Tables> = Updateable<Tables[T]>;

/** The tables that have a column of this name. */
export type TablesWith<C extends string> = {
  [T in keyof Tables]: C extends keyof Tables[T] ? T : never;
}[keyof Tables];

/** Neither connects nor begins a transaction: the lender of the client does. So it is also the connection. */
class ClientDriver extends DummyDriver implements DatabaseConnection {
  readonly #client: ClientBase;

  constructor(client: ClientBase) {
    super();
    this.#client = client;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, rowCount } = await this.#client.query<R & object>(sql, [...parameters]);
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  /** Kysely requires it of every connection; large results are read through a cursor instead. */
  streamQuery(): never {
    throw new TypeError('statements of the query builder are not streamed');
  }
}
