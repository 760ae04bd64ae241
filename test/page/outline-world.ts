/**
 * An indexer with three updates for tests of the update outline: a create, an exercise that replaces its contract, and
 * 100 creates.
 */
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';

/** Text in every payload, command id and workflow id. */
export const secret = 'a-payload-that-is-nobodys-business';
export const old = `00${'a1'.repeat(32)}`;
export const freshContractId = `00${'b2'.repeat(32)}`;

export interface OutlineWorld extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly indexer: IndexerRun;
}

export async function startOutlineWorld(): Promise<OutlineWorld> {
  const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  const database = await createTestDatabase();
  const indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_HTTP_PORT: '0',
    INDEXER_START: 'genesis',
  });
  appendUpdates(sandbox);
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  return {
    sandbox,
    indexer,
    [Symbol.asyncDispose]: async () => {
      await indexer[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
    },
  };
}

function appendUpdates({ ledger }: Sandbox): void {
  const append = (events: (offset: number) => readonly frames.JsonRecord[]): void => {
    const offset = ledger.ledgerEnd() + 1;
    const commandId = secret;
    const change = { recordTime: new Date().toISOString(), commandId, workflowId: secret };
    ledger.appendRaw(JSON.stringify(frames.transaction(offset, [...events(offset)], change)), offset);
  };
  const createdFrame = (offset: number, nodeId: number, contractId: string): frames.JsonRecord => ({
    CreatedEvent: frames.created({ offset, nodeId, contractId, createArgument: { note: secret, owner: frames.alice } }),
  });
  append((offset) => [createdFrame(offset, 0, old)]);
  append((offset) => [
    {
      ExercisedEvent: frames.exercised({
        offset,
        nodeId: 0,
        lastDescendantNodeId: 1,
        contractId: old,
        choiceArgument: { note: secret },
        exerciseResult: secret,
      }),
    },
    createdFrame(offset, 1, freshContractId),
  ]);
  append((offset) => Array.from({ length: 100 }, (_, node) => createdFrame(offset, node, `00c${String(node)}`)));
}
