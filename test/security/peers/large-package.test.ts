/** A package that is larger than the frame limit is not read, and the stream continues. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { demoWorld } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { startParticipant, type Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { created, transaction } from '../../support/frames.ts';
import { waitFor } from '../../support/wait-for.ts';

const mebibyte = 1024 * 1024;
let database: TestDatabase;
let sandbox: Sandbox;
let packageId: string;

beforeEach(async () => {
  database = await createTestDatabase();
  const world = demoWorld();
  const [first, ...otherPackages] = world.packages;
  if (first === undefined) throw new Error('the sandbox has no packages');
  packageId = first.id;
  const largePackage = { ...first, payload: new Uint8Array(Buffer.concat([first.payload, Buffer.alloc(mebibyte)])) };
  sandbox = await startParticipant(
    { ...world, packages: [largePackage, ...otherPackages] },
    { limits: { checkpointIntervalMs: 50 } },
  );
});
afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

it('a package above LEDGER_MAX_FRAME_BYTES is reported, and the indexer does not park', async () => {
  const offset = sandbox.ledger.ledgerEnd() + 1;
  const event = created({ offset, templateId: `${packageId}:Main.Iou:Iou`, interfaceViews: [] });
  sandbox.ledger.appendRaw(transaction(offset, [{ CreatedEvent: event }]));
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
    LEDGER_MAX_FRAME_BYTES: '1MiB',
  });
  await indexer.reaches(offset);
  const refusalLine = await waitFor('the package is refused', () =>
    indexer.log.find((line) => line.includes(packageId) && line.includes('LEDGER_FRAME_TOO_LARGE')),
  );
  expect(refusalLine).toContain('1048576 bytes');
  expect((await indexer.status()).state).not.toBe('parked');
});
