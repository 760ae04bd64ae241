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
import { readProjection } from './read-projection.ts';
import type { SelectedEvents } from './selected-events.ts';
import { Selections } from './selections.ts';
import { maxRows, maxUpdatesPerRead, readPageEnd, readStream } from './stream-range.ts';

/** As {@link maxUpdatesPerRead}, if token events are computed. */
const tokenUpdatesPerRead = 250;
/**
 * Maximum characters of one page, unless its first change alone is longer. Thousands of clients may each hold a page
 * that they do not consume.
 */
export const maxPageCharacters = 256_000;

/**
 * Reads one page from one snapshot of the database. The connection determines which commits are visible. The role
 * determines which rows are visible.
 * @param rows maximum number of changes, 1 to 1000
 * @param characters maximum characters of all changes together; a page always has at least one change. The limit exists
 * because contents may be of any size and a page is held in memory.
 * @param selections shared by all pages of this process
 * @throws IndexerError STORE_NOT_PERMITTED if the role may not read or this login may not switch to it; FILTER_INVALID and
 * FIELD_UNKNOWN for the filter of the selection; STORE_ errors; the errors of {@link readProjection}
 */
export function readChanges(
  database: Database,
  request: ChangesRequest,
  rows: number,
  characters = maxPageCharacters,
  selections = new Selections(),
): Promise<ChangesPage> {
  const { projection } = request;
  if (typeof projection === 'string') return readProjection(database, { ...request, projection }, { rows, characters });
  const schemas = readSchemas(database.schema);
  return inSnapshot(
    database,
    async (client) => {
      const { checkpoint, availableAfter } = await readStream(client, schemas);
      const { after, until } = request;
      const selection = await selections.prepare(client, schemas, request);
      // Runs before the role is set: under row security the server would search all hidden rows for the offset.
      const end = await readPageEnd(client, schemas, { after, until, checkpoint, most: updatesPerPage(request) });
      const page = { changes: [], next: after, atEnd: true, isComplete: end.isComplete, checkpoint, availableAfter };
      if (checkpoint === null || end.isEmpty) return page;
      if (request.role !== null) await client.query(`set local role ${escapeIdentifier(request.role)}`);
      const { upTo } = end;
      const range = { from: after.node === null ? after.offset : after.offset - 1, upTo };
      const selected = await selection.parts(range, ownParameters);
      const bounds = { upTo, limit: Math.max(1, Math.min(maxRows, rows)), characters };
      const { changes, found: foundCount } =
        selected === undefined
          ? { changes: [], found: 0 }
          : await readRange(client, schemas, request, bounds, selected);
      const last = changes.at(-1);
      const isFull = last !== undefined && (foundCount === bounds.limit || changes.length < foundCount);
      const next = isFull ? { offset: last.offset, node: last.node } : { offset: upTo, node: null };
      const isComplete = !isFull && end.isComplete;
      return { ...page, changes, next, atEnd: !isFull && (isComplete || upTo === checkpoint), isComplete };
    },
    request.rights,
  );
}

/** Token events are computed for the complete range of a page, however few rows the page has. */
function updatesPerPage({ selection }: ChangesRequest): number {
  return selection !== undefined && selection.tokenEvents.length > 0 ? tokenUpdatesPerRead : maxUpdatesPerRead;
}

/** The checkpoint in the database; null until the seed is complete. @throws IndexerError STORE_ errors */
export function readCheckpoint(database: Database): Promise<number | null> {
  return inSnapshot(database, async (client) => (await readStream(client, readSchemas(database.schema))).checkpoint);
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

type ReadChange = Pick<Change, 'offset' | 'node' | 'json'> & {
  readonly found: number;
  readonly event: string | null;
};

/** Number of parameters of the statement of {@link readRange}, before those of the selection. */
const ownParameters = 8;

async function readRange(
  client: ClientBase,
  { explore }: ReadSchemas,
  { after, template, party, eventTypes }: ChangesRequest,
  { upTo, limit, characters }: Bounds,
  { joins, condition, name, tokenEvents, values }: SelectedEvents,
): Promise<RangeChanges> {
  const tokenColumn = tokenEvents === undefined ? '' : `, ${tokenEvents} as token_events`;
  // The page is limited before the JSON is built, so that only its events are decompressed and formatted.
  const { rows } = await client.query<ReadChange>(
    `with printed as (
     select e."offset", e.node_id as node, e.name as event,
            json_build_object('offset', e."offset", 'node_id', e.node_id, 'event_type', e.event_type,
              'update_id', e.update_id, 'record_time', e.record_time, 'effective_at', e.effective_at,
              'synchronizer_id', e.synchronizer_id, 'contract_id', e.contract_id, 'template_fqn', e.template_fqn,
              'package_id', e.package_id, 'choice', e.choice, 'parties', e.parties, 'payload', e.payload,
              'argument', e.argument, 'result', e.result${tokenEvents === undefined ? '' : ", 'token_events', e.token_events"})::text as json
       from (select e.*, ${name} as name${tokenColumn} from ${escapeIdentifier(explore)}.events e ${joins}
              where e."offset" between $1 and $3 and (e."offset", e.node_id) > ($1, $2)
                and ($4::text is null or e.template_fqn = $4) and ($5::text is null or $5 = any (e.parties))
                and (cardinality($6::text[]) = 0 or e.event_type = any ($6)) and ${condition}
              order by e."offset", e.node_id limit $7) e),
     counted as (
     select p.*, (count(*) over ())::int as found,
            sum(length(json)) over (order by "offset", node) - length(json) as before
       from printed p)
     select "offset", node, json, found, event from counted where before = 0 or before + length(json) <= $8
      order by "offset", node`,
    [after.offset, after.node ?? maxNodeId, upTo, template, party, eventTypes, limit, characters, ...values],
  );
  const changes = rows.map(({ offset, node, json, event }) => ({
    offset,
    node,
    json,
    ...(event !== null && { event }),
  }));
  return { changes, found: rows[0]?.found ?? 0 };
}
