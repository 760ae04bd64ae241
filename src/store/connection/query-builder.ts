/**
 * Builds statements over the tables with Kysely, so that a renamed column or a changed type fails the build. Kysely
 * only generates the SQL. The statements are sent by a client of `Database`, which handles timeouts, timing,
 * transactions and errors.
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
 * The package has two builds of about 260 files each. Every command loads it at start. Its CommonJS build, loaded with
 * `require`, takes half of the CPU time of its ES modules.
 */
const { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } = createRequire(
  import.meta.url,
)('kysely') as typeof KyselyPackage;

/** A template tag for SQL parts of a statement. */
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

/** Selects the number of rows, as `count`. */
export function countRows<T extends keyof Tables>(from: ExpressionBuilder<Tables, T>) {
  return from.fn.countAll<number>().as('count');
}

/**
 * The limit of one row, as a literal. Sessions plan without parameter values (session-settings.ts). If the limit were a
 * parameter, the planner would assume a tenth of the rows.
 */
export const constantOne = sql<number>`1`;

/**
 * New values for columns of a table, for calls that do not pass a literal. The compiler finds unknown columns only in
 * literals of a known type, not in spread objects or callback results.
 */
export type Change<T extends keyof Tables> = Updateable<Tables[T]>;

/** The tables that have a column of this name. */
export type TablesWithColumn<C extends string> = {
  [T in keyof Tables]: C extends keyof Tables[T] ? T : never;
}[keyof Tables];

/**
 * Runs statements on a lent client. The caller has already connected the client and begun the transaction, so one
 * object implements both the driver and its connection.
 */
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

  /** Required by Kysely's interface of a connection. Large results are read through a cursor instead. */
  streamQuery(): never {
    throw new TypeError('statements of the query builder are not streamed');
  }
}
