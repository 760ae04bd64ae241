/**
 * Outline of one update for the status page. It contains the tree of events with names and ids, without payloads and
 * parties.
 */
import { escapeIdentifier } from 'pg';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';

export interface StoredOutlineNode {
  readonly depth: number;
  /** Kind of the event: created, archived, exercised, assigned, unassigned or topology. */
  readonly event: string;
  /** Template as `package:Module:Entity` */
  readonly template: string | null;
  readonly choice: string | null;
  readonly contractId: string | null;
  /** Id of the contract that replaced this contract, or that this contract replaced. */
  readonly otherContractId: string | null;
}

export interface StoredUpdateOutline {
  readonly offset: number;
  readonly kind: string;
  readonly updateId: string | null;
  readonly previousOffset: number | null;
  readonly nextOffset: number | null;
  /** ISO 8601, like the other times. */
  readonly effectiveAt: string | null;
  readonly recordTime: string | null;
  readonly indexedAt: string | null;
  readonly events: number;
  readonly paidTrafficCost: number | null;
  readonly traceId: string | null;
  readonly nodes: readonly StoredOutlineNode[];
  /** Number of events that were left out. */
  readonly omitted: number;
}

const maxNodes = 60;
/** No tree is built for updates with more events than this. */
const maxEvents = 2_000;
const maxTextLength = 200;

interface SummaryRow extends Record<
  'kind' | 'update_id' | 'effective_at' | 'record_time' | 'indexed_at' | 'trace_id',
  string | null
> {
  readonly offset: number;
  readonly previous_offset: number | null;
  readonly next_offset: number | null;
  readonly event_count: number;
  readonly paid_traffic_cost: number | null;
}

/**
 * The update at an offset; undefined if there is none.
 * @param database a handle with a short statement timeout
 * @throws IndexerError as every read
 */
export function readUpdateOutline(database: Database, offset: number): Promise<StoredUpdateOutline | undefined> {
  const explore = escapeIdentifier(readSchemas(database.schema).explore);
  return database.withClient(async (client) => {
    const summaries = await client.query<SummaryRow>(
      `select s."offset", s.kind, s.update_id, s.previous_offset, s.next_offset, ${iso('s.effective_at')} as effective_at,
              ${iso('s.record_time')} as record_time, ${iso('s.indexed_at')} as indexed_at, s.event_count,
              s.paid_traffic_cost, left(s.trace_id, ${String(maxTextLength)}) as trace_id
         from ${explore}.explain_summary($1) s`,
      [offset],
    );
    const [summary] = summaries.rows;
    if (summary === undefined) return undefined;
    const isDrawable = summary.event_count <= maxEvents;
    const nodes = await client.query<StoredOutlineNode>(
      `select e.depth, e.event_type as event, left(e.template_fqn, ${String(maxTextLength)}) as template,
              left(e.choice, ${String(maxTextLength)}) as choice, e.contract_id as "contractId",
              e.other_contract_id as "otherContractId"
         from ${explore}.explain_update($1::bigint) e where $2 limit ${String(maxNodes)}`,
      [offset, isDrawable],
    );
    return outlineOf(summary, nodes.rows);
  });
}

function iso(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

function outlineOf(summary: SummaryRow, nodes: readonly StoredOutlineNode[]): StoredUpdateOutline {
  return {
    offset: summary.offset,
    kind: summary.kind ?? '',
    updateId: summary.update_id,
    previousOffset: summary.previous_offset,
    nextOffset: summary.next_offset,
    effectiveAt: summary.effective_at,
    recordTime: summary.record_time,
    indexedAt: summary.indexed_at,
    events: summary.event_count,
    paidTrafficCost: summary.paid_traffic_cost,
    traceId: summary.trace_id,
    nodes,
    omitted: Math.max(0, summary.event_count - nodes.length),
  };
}
