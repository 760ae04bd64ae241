/** An indexer that follows a participant to which tests of typed views upload packages. */
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { created, transaction, type Json, type JsonRecord } from '../../support/frames.ts';
import { waitFor } from '../../support/wait-for.ts';

export class TypedWorld implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly indexer: IndexerRun;
  readonly ledger: LedgerClient;
  #contracts = 0;

  private constructor(worldParts: Pick<TypedWorld, 'sandbox' | 'database' | 'indexer' | 'ledger'>) {
    ({ sandbox: this.sandbox, database: this.database, indexer: this.indexer, ledger: this.ledger } = worldParts);
  }

  static async start(): Promise<TypedWorld> {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    const database = await createTestDatabase();
    const indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url });
    const ledger = createLedgerClient({
      url: sandbox.url,
      tokenSource: createTokenSource({}),
      insecure: false,
      requestTimeoutMs: 10_000,
    });
    return new TypedWorld({ sandbox, database, indexer, ledger });
  }

  rows(sql: string): Promise<readonly Record<string, unknown>[]> {
    return query(this.database.url, sql);
  }

  /** Appends a transaction, and waits until it is indexed. */
  async happens(...events: readonly JsonRecord[]): Promise<number> {
    const offset = this.sandbox.ledger.ledgerEnd() + 1;
    const offsetField = { offset };
    const movedEvents = events.map((event) => {
      const [kind = '', value] = Object.entries(event)[0] ?? [];
      return { [kind]: { ...(value as JsonRecord), ...offsetField } };
    });
    this.sandbox.ledger.appendRaw(transaction(offset, movedEvents));
    await this.indexer.reaches(offset);
    return offset;
  }

  contractOf(templateId: string, packageName: string, createArgument: Json, change: JsonRecord = {}): JsonRecord {
    this.#contracts += 1;
    const contractId = `00${this.#contracts.toString(16).padStart(4, '0')}`;
    return {
      CreatedEvent: created({ contractId, templateId, packageName, createArgument, interfaceViews: [], ...change }),
    };
  }

  async columnsOf(view: string): Promise<readonly string[]> {
    const columnsFound = await this.rows(
      `select attname || ' ' || format_type(atttypid, atttypmod) as shown from pg_attribute
        where attrelid = to_regclass('typed.${view}') and attnum > 0 order by attnum`,
    );
    return columnsFound.map(({ shown: formattedColumn }) => formattedColumn as string);
  }

  async appears(view: string, column?: string): Promise<void> {
    await waitFor(`typed.${view} ${column ?? ''}`, async () => {
      const columnsFound = await this.columnsOf(view);
      return columnsFound.some((line) => column === undefined || line.startsWith(`${column} `)) ? true : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.indexer[Symbol.asyncDispose]();
    await this.sandbox.close();
    await this.database.drop();
  }
}
