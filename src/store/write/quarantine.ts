/** Table `quarantine`: updates that could not be stored, in their original form. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { QuarantinedUpdate } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { sql, tablesOf } from '../connection/query-builder.ts';
import type { Statement } from '../connection/round-trip.ts';

/** A quarantined update, as listed for operators. */
export interface QuarantineRow {
  readonly offset: number;
  readonly code: string;
  readonly problem: string;
  readonly bytes: number;
  readonly quarantinedAt: Date;
  readonly attempts: number;
}

/**
 * The statement that stores an update in quarantine. Send it in the transaction that moves the checkpoint past the
 * update.
 */
export function quarantineStatement({ offset, code, problem, frame }: QuarantinedUpdate, epoch: number): Statement {
  return {
    name: 'quarantine',
    text: `insert into quarantine ("offset", code, problem, frame, epoch)
           values ($1::bigint, $2::text, $3::text, decode($4::text, 'hex'), $5::bigint)`,
    values: [offset, code, problem, frame.toString('hex'), epoch],
  };
}

/** All quarantined updates, ordered by offset. */
export async function listQuarantine(database: Database): Promise<readonly QuarantineRow[]> {
  return database.withClient((client) =>
    tablesOf(client)
      .selectFrom('quarantine')
      .select(['offset', 'code', 'problem', 'quarantined_at as quarantinedAt', 'attempts'])
      .select((row) => sql<number>`octet_length(${row.ref('frame')})`.as('bytes'))
      .orderBy('offset')
      .execute(),
  );
}

/** The original frame of a quarantined update. @throws IndexerError QUARANTINE_NOT_FOUND */
export async function quarantinedFrame(database: Database, offset: number): Promise<Buffer> {
  const row = await database.withClient((client) =>
    tablesOf(client).selectFrom('quarantine').select('frame').where('offset', '=', offset).executeTakeFirst(),
  );
  if (row !== undefined) return row.frame;
  throw new IndexerError(`no update is in quarantine at offset ${String(offset)}`, {
    code: 'QUARANTINE_NOT_FOUND',
  });
}

/** Records a failed attempt to store a quarantined update. */
export async function recordAttempt(database: Database, offset: number): Promise<void> {
  await database.withClient((client) =>
    tablesOf(client)
      .updateTable('quarantine')
      .set('attempts', (row) => row('attempts', '+', 1))
      .set('attempted_at', sql<Date>`now()`)
      .where('offset', '=', offset)
      .execute(),
  );
}
