/**
 * Several statements in one round trip: everything is sent at once, COPY data included, and ends with one Sync. Without
 * a BEGIN among them they are one transaction, which commits at the Sync; the first that fails takes all others with it,
 * because Postgres skips what follows up to the Sync.
 * Source: Postgres documentation, "Extended Query", "Pipelining" and "COPY Operations".
 */
import type { ClientBase, Connection, Submittable } from 'pg';
import type { QueryOp } from './query-timing.ts';
import { toStoreError } from './store-error.ts';

/** Text as it is, numbers as text, a Buffer in the binary format of the type. */
export type Parameter = string | number | Buffer | null;

export interface Statement {
  /** Under this name it is prepared once per connection: one name, one text. */
  readonly name: string;
  readonly text: string;
  readonly values?: readonly Parameter[];
  /** The CopyData messages of a COPY. */
  readonly copy?: Buffer;
  /** How long it may take where that is longer than others may, milliseconds; the server has to be told as well. */
  readonly limitMs?: number;
  /** What its failure means, where SQLSTATE alone does not say it; undefined: what SQLSTATE says. */
  readonly explain?: (sqlstate: string) => Error | undefined;
}

const copyDone = Buffer.from([0x63, 0, 0, 0, 4]);
const prepared = new WeakMap<Connection, Set<string>>();

/**
 * Resolves to the rows each statement has touched when all are done (and committed, without a BEGIN). The values and
 * COPY data must stay as they are until then. After a failure the client is not to be used for anything but ROLLBACK.
 * @throws IndexerError
 */
export function inOneRoundTrip(client: ClientBase, statements: readonly Statement[]): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    client.query(
      new PipelinedStatements(statements, (error, rows) => {
        if (error === null) resolve(rows);
        else reject(error);
      }),
    );
  });
}

type OnDone = (error: Error | null, rows: readonly number[]) => void;

/** What the driver calls while a query of another make is at work on its connection. */
class PipelinedStatements implements Submittable {
  /** The driver wraps it to stop its clock. */
  callback: OnDone;
  /** How long the driver waits; undefined: as for every query. */
  readonly query_timeout: number | undefined;
  readonly #statements: readonly Statement[];
  readonly #rows: number[] = [];

  constructor(statements: readonly Statement[], onDone: OnDone) {
    this.#statements = statements;
    this.callback = onDone;
    this.query_timeout = statements.findLast(({ limitMs }) => limitMs !== undefined)?.limitMs;
  }

  /** For those who time queries. */
  get op(): QueryOp {
    if (this.#statements[0]?.name === 'begin') return 'copy';
    return this.#statements.at(-1)?.name === 'commit' ? 'finish' : 'batch';
  }

  submit(connection: Connection): void {
    let known = prepared.get(connection);
    if (known === undefined) prepared.set(connection, (known = new Set()));
    connection.stream.cork();
    for (const { name, text, values = [], copy } of this.#statements) {
      if (!known.has(name)) connection.parse({ name, text, types: [] }, true);
      known.add(name);
      connection.bind({ statement: name, values: values.map(wireValue) }, true);
      connection.execute(null, true);
      if (copy === undefined) continue;
      connection.stream.write(copy);
      connection.stream.write(copyDone);
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    // "UPDATE 3", "INSERT 0 3", "COPY 3", "BEGIN".
    this.#rows.push(Number(/\d+$/.exec(text)?.[0] ?? 0));
  }

  handleError(thrown: Error): void {
    const sqlstate: unknown = Reflect.get(thrown, 'code');
    const failed = this.#statements[this.#rows.length];
    const explained = typeof sqlstate === 'string' ? failed?.explain?.(sqlstate) : undefined;
    this.callback(explained ?? toStoreError(thrown), []);
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows);
  }

  // The data is on its way already; rows are not asked for.
  handleCopyInResponse(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}

function wireValue(value: Parameter): string | Buffer | null {
  return typeof value === 'number' ? String(value) : value;
}
