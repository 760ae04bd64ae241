/**
 * Statements over the tables, built with Kysely so that a column that is renamed or changes its type fails the build. Kysely
 * spells them and no more: they are sent by a lent client as any other, so time-outs, timing, transactions and what becomes
 * of errors are those of `Database`.
 */
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type QueryCreator,
  type QueryResult,
} from 'kysely';
import type { ClientBase } from 'pg';
import type { Tables } from './tables.ts';

/** Builds statements that are sent by this client; unqualified names are those of its search path. Throws what the driver throws. */
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

/** Neither connects nor begins anything: whoever lent the client does. So it is the connection as well. */
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

  /** Kysely wants it of every connection; what is too much for memory is read through a cursor instead. */
  streamQuery(): never {
    throw new TypeError('statements of the query builder are not streamed');
  }
}
