/** An indexer with its query page, three contracts whose payload is markup, and a reader role, for tests of the page. */
import { randomBytes } from 'node:crypto';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';

export const contract = `00${'a1'.repeat(32)}`;
const markup = `<img src=x onerror="document.title='taken'">`;

export interface QueryWorld extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly indexer: IndexerRun;
  /** Database role of the query page. */
  readonly role: string;
}

export async function startQueryWorld(): Promise<QueryWorld> {
  const role = `asks_${randomBytes(4).toString('hex')}`;
  const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  const database = await createTestDatabase();
  const reader = new URL(database.url);
  [reader.username, reader.password] = [role, role];
  const indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_QUERY_PAGE_DATABASE_URL: reader.href,
    INDEXER_START: 'genesis',
  });
  for (const contractId of [contract, '00c2', '00c3']) {
    const offset = sandbox.ledger.ledgerEnd() + 1;
    const event = { CreatedEvent: frames.created({ offset, contractId, createArgument: { note: markup } }) };
    sandbox.ledger.appendRaw(
      JSON.stringify(frames.transaction(offset, [event], { recordTime: frames.recordTime })),
      offset,
    );
  }
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  const applicationName = 'test';
  const owner = openDatabase({ url: database.url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName });
  await grantReader(owner, { role, parties: [], password: role });
  await owner.close();
  return {
    sandbox,
    database,
    indexer,
    role,
    [Symbol.asyncDispose]: async () => {
      await indexer[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
      await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
    },
  };
}
