/** Stored updates and contracts that are used to compare the ledger's history with the stored one. */
import type { ContractMark, UpdateMark } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { constantOne, sql, tablesOf } from '../connection/query-builder.ts';

/** The newest stored update with an id after `afterOffset` and up to `upTo`; undefined if there is none. */
export function newestMark(database: Database, afterOffset: number, upTo: number): Promise<UpdateMark | undefined> {
  return database.withClient((client) =>
    tablesOf(client)
      .selectFrom('updates')
      .select(['offset', sql<string>`id_text(update_id)`.as('updateId')])
      .where('offset', '>', afterOffset)
      .where('offset', '<=', upTo)
      .where('update_id', 'is not', null)
      .orderBy('offset', 'desc')
      .limit(constantOne)
      .executeTakeFirst(),
  );
}

/**
 * Start (exclusive) of the range in which the filter in force is complete and offsets are those of the current
 * participant. Earlier updates may not be visible under this filter.
 */
export async function rangeBegin(database: Database): Promise<number> {
  const { begin: beginOffset } = await database.withClient((client) =>
    tablesOf(client)
      .selectNoFrom((e) =>
        e
          .fn<number | null>('greatest', [
            e
              .selectFrom('coverage')
              .select((c) => c.fn.max('from_offset').as('from'))
              .where('to_offset', 'is', null),
            e.selectFrom('participants').select((p) => p.fn.max('from_offset').as('from')),
          ])
          .as('begin'),
      )
      .executeTakeFirstOrThrow(),
  );
  return beginOffset ?? 0;
}

/**
 * Start (exclusive) of the updates that are stored without a gap up to the checkpoint, under any filter, with offsets
 * of the current participant.
 */
export async function historyBegin(database: Database): Promise<number> {
  const { rows } = await database.withClient((client) =>
    client.query<{ begin: number | null }>(
      `select greatest((select pruned_to_offset from stream), (select max(from_offset) from participants), max(c.from_offset)) as begin
         from coverage c
        where not exists (select from coverage b
                           where b.from_offset < c.from_offset and b.to_offset >= c.from_offset)`,
    ),
  );
  return rows[0]?.begin ?? 0;
}

/** Whether the update at this offset is in quarantine. */
export async function isQuarantined(database: Database, offset: number): Promise<boolean> {
  const quarantinedRow = await database.withClient((client) =>
    tablesOf(client).selectFrom('quarantine').select('offset').where('offset', '=', offset).executeTakeFirst(),
  );
  return quarantinedRow !== undefined;
}

/** The lowest of these offsets that is neither stored nor in quarantine. */
export async function findUnknownOffset(database: Database, offsets: readonly number[]): Promise<number | undefined> {
  if (offsets.length === 0) return undefined;
  const requestedOffsets = sql<{ readonly offset: number }>`unnest(${offsets}::bigint[])`.as<'o'>(sql`o ("offset")`);
  const missingRow = await database.withClient((client) =>
    tablesOf(client)
      .selectFrom(requestedOffsets)
      .select('o.offset')
      .where((e) => e.not(e.exists(e.selectFrom('updates as u').whereRef('u.offset', '=', 'o.offset'))))
      .where((e) => e.not(e.exists(e.selectFrom('quarantine as q').whereRef('q.offset', '=', 'o.offset'))))
      .orderBy('o.offset')
      .limit(constantOne)
      .executeTakeFirst(),
  );
  return missingRow?.offset;
}

// Finds active contracts that are used to compare histories if no update can be used.

/** The newest active contracts that were never reassigned. There is one per template, and at most `limit` in total. */
export function newestContracts(database: Database, limit: number): Promise<readonly ContractMark[]> {
  return database.withClient((client) =>
    tablesOf(client)
      .selectFrom('templates as t')
      .crossJoinLateral((e) =>
        e
          .selectFrom('live as l')
          .select(['l.offset', 'l.node_id'])
          .whereRef('l.template_pk', '=', 't.template_pk')
          .where('l.unhosted_since', 'is', null)
          .orderBy('l.offset', 'desc')
          .limit(constantOne)
          .as('n'),
      )
      .innerJoin('contracts as c', (join) =>
        join.onRef('c.offset', '=', 'n.offset').onRef('c.node_id', '=', 'n.node_id'),
      )
      .select([sql<string>`id_text(c.contract_id)`.as('contractId'), 'c.offset'])
      .where('c.origin', 'in', ['c', 's'])
      .where((e) => e(e.fn.coalesce('c.reassignment_counter', e.val(0)), '=', 0))
      .orderBy('c.offset', 'desc')
      .limit(limit)
      .execute(),
  );
}

/**
 * Formats the state of a parked stream that a command can change as one text, for comparison. The text is empty if
 * nothing was indexed.
 */
export function streamStateText(database: Database): Promise<string> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<{ standing: string }>(
      `select json_build_array(s.participant_id, s.filter_hash, s.checkpoint, s.handover, (select max(participant_number) from participants),
                               (select max(recorded_at) from coverage))::text as standing
         from stream s`,
    );
    return rows[0]?.standing ?? '';
  });
}
