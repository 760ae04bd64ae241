/** A migrated database that contains contracts of two owners, and the typed views of their package. */
import { expect } from 'vitest';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { openSession } from '../../src/store/write/session.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { historyOf, iou } from '../read/reader-attempts.ts';
import * as frames from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';

export async function fillWithTwoOwners(url: string): Promise<void> {
  await runCommand(migrateCommand, [], { DATABASE_URL: url });
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test functions' };
  const database = openDatabase({ url, ...options });
  const identity = {
    participantId: 'p::1220',
    filter: '{"p":"foreign"}',
    filterHash: 'f',
    shape: 'LEDGER_EFFECTS',
  } as const;
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  const history = [...historyOf('own', frames.alice, 1), ...historyOf('foreign', 'Eve::1220ee', 7)];
  for (const update of history) batch.add(decodeUpdate(frames.text(update)));
  await session.writeBatch(batch, 0);
  await storePackage(database, iou);
  expect((await syncTypedViews(database, [iou])).failed).toEqual([]);
  await database.close();
}
