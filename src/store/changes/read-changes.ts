/**
 * Reads committed changes that follow a position in history, in order, one bounded page at a time. The change feed and
 * the webhooks use it. A change is a row of explore.events: a create, an archive, an exercise, an assignment, an
 * unassignment or a topology change. If the request names a projection, it is a row of this projection.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { maxNodeId, type Change, type ChangesPage, type ChangesRequest } from '../../model/push/changes.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas, type ReadSchemas } from '../connection/read-schemas.ts';
import { inSnapshot } from '../reads/snapshot-read.ts';
import { maxRows, maxUpdatesPerRead, readRangeEnd, readStream } from './stream-range.ts';
import { readProjection } from './read-projection.ts';

/**
 * Maximum characters of one page, unless its first change alone is longer. Thousands of clients may each hold a page
 * that they do not consume.
 */
const maxCharacters = 256_000;

/**
 * Reads one page from one snapshot of the database. The connection determines which commits are visible. The role
 * determines which rows are visible.
 * @param rows maximum number of changes, 1 to 1000
 * @param characters maximum characters of all changes together; a page always has at least one change. The limit exists
 * because contents may be of any size and a page is held in memory.
 * @throws IndexerError STORE_NOT_PERMITTED if the role may not read or this login may not switch to it; STORE_ errors; the
 * errors of {@link readProjection}
 */
export function readChanges(
  database: Database,
  request: ChangesRequest,
  rows: number,
  characters = maxCharacters,
): Promise<ChangesPage> {
  const { projection } = request;
  if (typeof projection === 'string') return readProjection(database, { ...request, projection }, { rows, characters });
  const schemas = readSchemas(database.schema);
  return inSnapshot(
    database,
    async (client) => {
      const { checkpoint, availableAfter } = await readStream(client, schemas);
      const { after } = request;
      if (checkpoint === null || after.offset > checkpoint) {
        return { changes: [], next: after, atEnd: true, checkpoint, availableAfter };
      }
      // Runs before the role is set: under row security the server would search all hidden rows for the offset.
      const upTo = await readRangeEnd(client, schemas, after.offset, checkpoint, maxUpdatesPerRead);
      if (request.role !== null) await client.query(`set local role ${escapeIdentifier(request.role)}`);
      const limit = Math.max(1, Math.min(maxRows, rows));
      const { changes, found: foundCount } = await readRange(client, schemas, request, { upTo, limit, characters });
      const last = changes.at(-1);
      const isFull = last !== undefined && (foundCount === limit || changes.length < foundCount);
      const next = isFull ? { offset: last.offset, node: last.node } : { offset: upTo, node: null };
      return { changes, next, atEnd: !isFull && upTo === checkpoint, checkpoint, availableAfter };
    },
    request.rights,
  );
}

/** The checkpoint in the database; null until the seed is complete. @throws IndexerError STORE_ errors */
export function readCheckpoint(database: Database): Promise<number | null> {
  return inSnapshot(database, async (client) => (await readStream(client, readSchemas(database.schema))).checkpoint);
}

/**
 * Kinds of filter names that match nothing: a party or template that no row has, or an interface where a template is
 * expected.
 */
export type UnseenNameKind = 'party' | 'template' | 'interface';

/**
 * Filter names that no row visible to the role has. Reporting them matters: a client with a mistyped name would wait
 * without a warning.
 */
export function unseenNames(
  database: Database,
  { role, rights, template, party }: Pick<ChangesRequest, 'role' | 'rights' | 'template' | 'party'>,
): Promise<readonly UnseenNameKind[]> {
  const explore = escapeIdentifier(readSchemas(database.schema).explore);
  return inSnapshot(
    database,
    async (client) => {
      if (role !== null) await client.query(`set local role ${escapeIdentifier(role)}`);
      const { rows } = await client.query<Record<UnseenNameKind, boolean>>(
        `select $1::text is not null and not ${explore}.is_known_party($1) as party,
              $2::text is not null and k.kinds is null as template, coalesce(k.kinds = '{interface}', false) as interface
         from (select array_agg(distinct t.kind) as kinds from ${explore}.templates t where t.template_fqn = $2) k`,
        [party, template],
      );
      return (['party', 'template', 'interface'] as const).filter((name) => rows[0]?.[name] === true);
    },
    rights,
  );
}

interface Bounds {
  readonly upTo: number;
  readonly limit: number;
  readonly characters: number;
}

interface RangeChanges {
  readonly changes: readonly Change[];
  /** Number of changes within the limit of rows, including those beyond the limit of characters. */
  readonly found: number;
}

async function readRange(
  client: ClientBase,
  { explore }: ReadSchemas,
  { after, template, party, eventTypes }: ChangesRequest,
  { upTo, limit, characters }: Bounds,
): Promise<RangeChanges> {
  // The page is limited before the JSON is built, so that only its events are decompressed and formatted.
  const { rows } = await client.query<Change & { readonly found: number }>(
    `with printed as (
     select e."offset", e.node_id as node,
            json_build_object('offset', e."offset", 'node_id', e.node_id, 'event_type', e.event_type,
              'update_id', e.update_id, 'record_time', e.record_time, 'effective_at', e.effective_at,
              'synchronizer_id', e.synchronizer_id, 'contract_id', e.contract_id, 'template_fqn', e.template_fqn,
              'package_id', e.package_id, 'choice', e.choice, 'parties', e.parties, 'payload', e.payload,
              'argument', e.argument, 'result', e.result)::text as json
       from (select * from ${escapeIdentifier(explore)}.events e
              where e."offset" between $1 and $3 and (e."offset", e.node_id) > ($1, $2)
                and ($4::text is null or e.template_fqn = $4) and ($5::text is null or $5 = any (e.parties))
                and (cardinality($6::text[]) = 0 or e.event_type = any ($6))
              order by e."offset", e.node_id limit $7) e),
     counted as (
     select p.*, (count(*) over ())::int as found,
            sum(length(json)) over (order by "offset", node) - length(json) as before
       from printed p)
     select "offset", node, json, found from counted where before = 0 or before + length(json) <= $8
      order by "offset", node`,
    [after.offset, after.node ?? maxNodeId, upTo, template, party, eventTypes, limit, characters],
  );
  return { changes: rows, found: rows[0]?.found ?? 0 };
}
