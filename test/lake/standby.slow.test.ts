/** Exports from a streaming standby, and exports by reader roles. */
import { expect, it } from 'vitest';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession } from '../../src/store/write/session.ts';
import { startServers } from '../ha/servers.ts';
import { query } from '../support/database.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';
import { waitFor } from '../support/wait-for.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import * as frames from '../support/frames.ts';
import { activeAt, exportTo, lakeDir, manifestOf } from './lake-world.ts';

const schemas = schemasOfFile();

/** Stores three contracts, one of them archived. */
async function write(database: Database): Promise<void> {
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  for (const offset of [1, 2, 3, 4]) {
    const contractId = `00c${String(offset)}`;
    const event =
      offset === 4
        ? { ExercisedEvent: frames.exercised({ offset, contractId: '00c2' }) }
        : { CreatedEvent: frames.created({ offset, contractId }) };
    const batch = session.newBatch(offset - 1);
    batch.add(decodeUpdate(frames.text(frames.transaction(offset, [event]))));
    await session.writeBatch(batch, offset - 1);
  }
}

const activeIds = ['00c1', '00c3'].map((id) => `${id} ${frames.here}`);

it('export writes the same manifest from a standby as from its primary', { timeout: 120_000 }, async () => {
  await using servers = await startServers();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  const database = openDatabase({ url: servers.primary, ...options });
  try {
    await migrate(database);
    await write(database);
  } finally {
    await database.close();
  }
  await waitFor('the standby has caught up', async () => {
    const rows = await query(servers.standby, 'select checkpoint from ledger.stream').catch(() => []);
    return Number(rows[0]?.['checkpoint']) === 4 ? true : undefined;
  });
  using standbyExport = lakeDir();
  using primaryExport = lakeDir();
  await exportTo(standbyExport.path, servers.standby, 'ledger');
  await exportTo(primaryExport.path, servers.primary, 'ledger');
  expect(manifestOf(standbyExport.path)).toEqual(manifestOf(primaryExport.path));
  expect(await activeAt(standbyExport.path, 4)).toEqual(activeIds);
  await expect(exportTo(standbyExport.path, servers.standby, 'ledger', '--hold', 'lake')).rejects.toMatchObject({
    code: 'STORE_READ_ONLY',
  });
});

function urlAs(role: string): string {
  const url = new URL(schemas.url);
  [url.username, url.password] = [role, 'secret'];
  return url.href;
}

it('export accepts a reader of all parties, and refuses a reader of some parties', async () => {
  const database = await schemas.migrated('ledger');
  await write(database);
  const suffix = String(process.pid);
  const [fullReader, limitedReader] = [`lake_reader_${suffix}`, `lake_limited_${suffix}`];
  try {
    await grantReader(database, { role: fullReader, parties: [], password: 'secret' });
    await grantReader(database, { role: limitedReader, parties: [frames.alice], password: 'secret' });
    using dir = lakeDir();
    await exportTo(dir.path, urlAs(fullReader), 'ledger');
    expect(await activeAt(dir.path, 4)).toEqual(activeIds);
    using otherExport = lakeDir();
    await expect(exportTo(otherExport.path, urlAs(limitedReader), 'ledger')).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
    });
  } finally {
    for (const role of [fullReader, limitedReader])
      await query(schemas.url, `drop owned by ${role}; drop role ${role}`);
  }
});

it('export --hold stores a hold at the exported offset, and the next export moves the hold', async () => {
  const database = await schemas.migrated('held');
  await write(database);
  using dir = lakeDir();
  await exportTo(dir.path, schemas.url, 'held', '--until', '2', '--hold', 'lake');
  const lockRows = (): Promise<readonly object[]> =>
    query(schemas.url, `select name, "offset" from held.retention_holds`);
  expect(await lockRows()).toEqual([{ name: 'lake', offset: '2' }]);
  await exportTo(dir.path, schemas.url, 'held', '--hold', 'lake');
  expect(await lockRows()).toEqual([{ name: 'lake', offset: '4' }]);
});
