/**
 * Fills a projection that a user added. One transaction reads the rows as a role that can only read, and is rolled back.
 * A second one stores them with the rights of the writer. It fails if the row of the projection was changed in between,
 * for example by a redaction. Other changes of history are noted, and the notes outlast the second transaction.
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { rollBack, type Database } from '../connection/database.ts';
import { coverRange, inSnapshot, markFilled, nextRange, type FilledRange, type NextRange } from './fill.ts';
import type { Projection, UserVersion } from './projections.ts';
import { becomeReader, readRows, withRowErrors, withSelectErrors } from './read-rows.ts';

interface ReadRange {
  readonly range: NextRange;
  /** Version of the row of the projection. */
  readonly rowVersion: string;
  readonly lines: readonly string[];
}

/**
 * Stores the rows of the next range that is not covered.
 * @param most maximum number of updates and of contracts in the range
 * @returns undefined if no range can be stored
 * @throws IndexerError STORE_CONFLICT, PROJECTION_LIMIT, PROJECTION_ROWS_OUTSIDE; errors of the SELECT
 */
export async function fillNextAsReader(
  database: Database,
  projection: Projection,
  user: UserVersion,
  most: number,
): Promise<FilledRange | undefined> {
  const read = await readNext(database, projection, user, most);
  return inSnapshot(database, async (client) => {
    if (read === undefined) {
      if (await markFilled(client, projection)) await retireEarlier(client, user);
      return undefined;
    }
    const { range, rowVersion, lines } = read;
    if (!(await coverRange(client, projection, range, rowVersion))) throw conflictError(projection.name);
    await withRowErrors(projection.name, range, storeLines(client, projection, lines));
    if (range.isLast) await retireEarlier(client, user);
    return { ...range, rows: lines.length };
  });
}

/** Stores rows in parts: the driver encodes a part at once, and the stream waits meanwhile. */
async function storeLines(client: ClientBase, { table }: Projection, lines: readonly string[]): Promise<void> {
  for (const part of partsOf(lines)) {
    await client.query(
      `insert into ${table}
       select (l.line).* from (select t::${table} as line from unnest($1::text[]) t offset 0) l`,
      [part],
    );
  }
}

const partCharacters = 100_000;

function* partsOf(lines: readonly string[]): Generator<readonly string[]> {
  let [part, characters]: [string[], number] = [[], 0];
  for (const line of lines) {
    part.push(line);
    characters += line.length;
    if (characters < partCharacters) continue;
    yield part;
    [part, characters] = [[], 0];
  }
  if (part.length > 0) yield part;
}

function readNext(
  database: Database,
  projection: Projection,
  { readRole }: UserVersion,
  most: number,
): Promise<ReadRange | undefined> {
  return database.withClient(async (client) => {
    await client.query('begin isolation level repeatable read');
    try {
      const range = await nextRange(client, projection, most);
      if (range === undefined) return undefined;
      const { rows } = await client.query<{ rowVersion: string }>(
        'select xmin::text as "rowVersion" from projections where name = $1',
        [projection.name],
      );
      await client.query(`set local ledger_indexer.projections = 'filling'`);
      await becomeReader(client, readRole, readMs);
      const lines = await withSelectErrors(projection.name, range, readRows(client, projection, range));
      return { range, rowVersion: rows[0]?.rowVersion ?? '', lines };
    } finally {
      await rollBack(client);
      // Locks of a session outlast its transactions.
      await client.query('select pg_advisory_unlock_all()');
    }
  });
}

/** Statement timeout while rows are read, milliseconds. A slow SELECT delays the other projections by this time. */
const readMs = 5_000;

/**
 * Marks earlier versions as replaced, and their rows as outdated. The rows of the projections are locked in the order in
 * which a redaction locks them.
 */
async function retireEarlier(client: ClientBase, { view, generation }: UserVersion): Promise<void> {
  const { rowCount } = await client.query(
    `update user_projections set is_retired = true
      where name = $1 and generation < $2 and not is_retired`,
    [view, generation],
  );
  if (rowCount === 0) return;
  await client.query('select from projections where view_name = $1 order by name for update', [view]);
  await client.query(
    `update projections set outdated = outdated + covered, covered = '{}', is_filled = false, updated_at = now()
      where view_name = $1 and generation < $2`,
    [view, generation],
  );
}

function conflictError(name: string): IndexerError {
  return new IndexerError(`projection ${name} was changed while a range was read`, { code: 'STORE_CONFLICT' });
}
