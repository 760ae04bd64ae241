/**
 * Stores an offset range again, for which an extended filter returns more than the previous filter did. It adds new
 * updates, missing events of stored updates, and lifetimes of contracts of the range, in one transaction. Stored rows
 * stay unchanged, so a range may be repeated.
 */
import type { ClientBase, PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { Batch } from '../../model/batch.ts';
import { Dictionary } from '../../model/dictionary.ts';
import { tables, type TableName } from '../../model/tables.ts';
import type { StoredUpdate } from '../../model/update.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { runInOneRoundTrip } from '../connection/round-trip.ts';
import { loadRedactions } from '../retention/redaction-store.ts';
import { storedColumnTypes } from '../schema/exercise-json.ts';
import { activityStatements, copyStatement } from '../write/batch-writer.ts';
import { BinaryTables } from '../write/copy-binary.ts';
import { entryStatements, loadDictionary, loadNames } from '../write/dictionary-store.ts';
import { moveMark } from '../write/late-update.ts';
import { assertEpoch } from '../write/stream-row.ts';
import { subtractActivity } from './activity-share.ts';
import { insertLifetimes } from './earlier-lifetimes.ts';
import { addEarlierRows, verifyEarlierRows } from './earlier-rows.ts';
import { maintain } from './maintenance.ts';
import { numberParties } from './staged-rows.ts';
import { lockCurrentStream } from './filter-extension.ts';
import { noteChange } from '../projections/note-change.ts';

/** All updates after `from` and up to `to` that the filter in force returns, in order. */
export interface EarlierRange {
  readonly from: number;
  readonly to: number;
  readonly updates: readonly StoredUpdate[];
}

/**
 * `names`: nothing was stored, because some names need numbers first. `otherwise`: nothing was stored, because the
 * range has been pruned here in the meantime or contracts are being staged again.
 */
export type EarlierRangeOutcome = 'stored' | 'names' | 'otherwise';

/**
 * Stores a range for a filter that is in force under this epoch. Only the holder of the writer lock calls it.
 * @throws IndexerError WRITER_FENCED (fenced), FILTER_EXTEND_MISMATCH if the range lacks stored rows,
 * FILTER_EXTEND_REFUSED while one of its updates is in quarantine; then nothing is changed
 */
export function storeEarlier(database: Database, range: EarlierRange, epoch: number): Promise<EarlierRangeOutcome> {
  const { from, to } = range;
  return maintain(database, async (client) => {
    // Redactions and pruning wait for this lock. Once they have searched for rows, no matching rows may be added.
    await client.query(`select ${readSchemas(database.schema).pqs}.__retention_lock()`);
    if (await isOvertaken(client, from)) return 'otherwise';
    await refuseQuarantined(client, range);
    const batch = await buildRange(client, range, epoch);
    if (batch === undefined) return 'names';
    await stage(client, batch);
    await verifyEarlierRows(client, range);
    // From here on, the stream waits for this transaction.
    await assertEpoch(client, epoch);
    await subtractActivity(client, { above: from, upTo: to });
    await addEarlierRows(client, epoch);
    // Contracts of the range may have ends and exercises after it.
    await noteChange(client, { after: from, upTo: null });
    await runInOneRoundTrip(client, activityStatements(batch));
    await insertLifetimes(client, range);
    await moveMark(client, batch);
    await client.query('update filter_additions set from_offset = $1, updated_at = now() where from_offset > $1', [
      from,
    ]);
    return 'stored';
  });
}

/**
 * Assigns numbers to names in a range that have none yet. Runs between two sessions, because the writer assigns numbers
 * from memory. Raises the epoch.
 */
export function registerEarlierNames(
  database: Database,
  { updates, from }: EarlierRange,
  epoch: number,
): Promise<void> {
  return maintain(database, async (client) => {
    await lockCurrentStream(client, { epoch });
    const dictionary = await loadDictionary(client);
    const batch = new Batch({ push: () => undefined }, dictionary, epoch, from);
    for (const update of updates) batch.add(update);
    await runInOneRoundTrip(client, entryStatements(dictionary.takeAdded()));
    await client.query('update stream set epoch = epoch + 1');
  });
}

async function isOvertaken(client: ClientBase, from: number): Promise<boolean> {
  const { rows } = await client.query(
    `select from stream
      where pruned_to_offset > $1 or exists (select from jobs where name = 'filter-extend' and state in ('requested', 'working', 'paused'))`,
    [from],
  );
  return rows.length > 0;
}

async function refuseQuarantined(client: ClientBase, { from, to }: EarlierRange): Promise<void> {
  const { rows } = await client.query<{ offset: number }>(
    'select "offset" from quarantine where "offset" > $1 and "offset" <= $2 order by 1 limit 1',
    [from, to],
  );
  if (rows[0] === undefined) return;
  const { offset } = rows[0];
  throw new IndexerError(
    `the update at offset ${String(offset)} is in quarantine, as received under the previous filter`,
    {
      code: 'FILTER_EXTEND_REFUSED',
      remedy: 'store it (ledger-indexer quarantine retry), then run: ledger-indexer jobs resume history',
      facts: { offset },
    },
  );
}

/**
 * Rows of the range, with the numbers that names have in this schema and separate numbers for party sets; undefined if
 * a name has no number.
 */
async function buildRange(
  client: PoolClient,
  { from, updates }: EarlierRange,
  epoch: number,
): Promise<Batch<BinaryTables> | undefined> {
  const dictionary = new Dictionary(await loadNames(client));
  const redactions = await loadRedactions(client);
  const rows = new BinaryTables(await storedColumnTypes(client));
  const batch = new Batch(rows, dictionary, epoch, from, { redactions });
  for (const update of updates) batch.add(update);
  batch.seal();
  const isNamed = Object.values(dictionary.takeAdded()).every(
    (addedRows: readonly unknown[]) => addedRows.length === 0,
  );
  return isNamed ? batch : undefined;
}

const withContractParties = ['contracts', 'live', 'ended'] as const;
const withEventParties = ['exercises', 'archives', 'reassignments'] as const;

/** Fills the temporary tables `staged_…`, with the numbers of this schema. */
async function stage(client: ClientBase, { sink }: Batch<BinaryTables>): Promise<void> {
  const names = Object.keys(tables) as TableName[];
  await client.query(
    names.map((name) => `create temporary table staged_${name} (like ${name}) on commit drop`).join('; '),
  );
  const filledTables = [...sink.filled()];
  await runInOneRoundTrip(
    client,
    filledTables.map(({ table, messages }) => copyStatement(table, messages, `staged_${table}`)),
  );
  for (const table of ['contract_parties', 'event_parties'] as const) {
    const map = `temporary table ${table}_map on commit drop`;
    await numberParties(client, table, { staged: `staged_${table}`, map });
    for (const stagedTable of table === 'contract_parties' ? withContractParties : withEventParties) {
      await client.query(
        `update staged_${stagedTable} s set parties_pk = m.ours from ${table}_map m where m.staged = s.parties_pk`,
      );
    }
  }
  await client.query(`analyze ${names.map((name) => `staged_${name}`).join(', ')}`);
}
