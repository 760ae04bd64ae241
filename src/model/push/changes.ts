/**
 * Changes that are pushed to consumers, in the order of history. Each has a cursor after it, from which a disconnected
 * client can continue. A change is a row of explore.events: a create, an archive, an exercise, an assignment, an
 * unassignment, or a topology change.
 */
import type { NodeRights } from './node-rights.ts';

/** A number above the number of every node of an update. */
export const maxNodeId = 2_147_483_647;

/** Position after which a page begins. */
export interface ChangeCursor {
  readonly offset: number;
  /** Node of the update; null for the position after all nodes of the offset. */
  readonly node: number | null;
}

export interface ChangesRequest {
  readonly after: ChangeCursor;
  /** package name:Module:Entity; null for any template. */
  readonly template: string | null;
  /** Witness of the event; null for any party. */
  readonly party: string | null;
  /** Values of event_type of explore.events; empty for all types. */
  readonly eventTypes: readonly string[];
  /**
   * The role whose rights and row security apply; null for the role of the connection. The role of the connection must
   * be a member of it.
   */
  readonly role: string | null;
  /** Rights of a user of the participant, whose parties are not those of the role. */
  readonly rights?: NodeRights | undefined;
}

export interface Change {
  /** The position of the change, and the cursor after it. */
  readonly offset: number;
  readonly node: number;
  /** One JSON object on one line, with the names of explore.events. Postgres writes it, so numbers lose no digit. */
  readonly json: string;
}

export interface ChangesPage {
  /** Changes in the order of offset and node. May be empty although more changes follow, see `atEnd`. */
  readonly changes: readonly Change[];
  /** Position at which the next page begins. Never above the checkpoint, unless `after` was. */
  readonly next: ChangeCursor;
  /** Whether every change up to the checkpoint was examined. */
  readonly atEnd: boolean;
  /** Null until the seed is complete. */
  readonly checkpoint: number | null;
  /**
   * History after this offset is stored without a gap; a cursor below it misses changes. Null if there is no stream
   * yet.
   */
  readonly availableAfter: number | null;
}

/** Parses a cursor like `12` or `12-3`: an offset, and a node of the update. Undefined for any other text. */
export function parseCursor(text: string): ChangeCursor | undefined {
  const [, offset, node] = /^(\d{1,16})(?:-(\d{1,10}))?$/u.exec(text) ?? [];
  const cursor = { offset: Number(offset), node: node === undefined ? null : Number(node) };
  return Number.isSafeInteger(cursor.offset) && (cursor.node ?? 0) <= maxNodeId ? cursor : undefined;
}

/** Formats a cursor for {@link parseCursor}. */
export function formatCursor({ offset, node }: ChangeCursor): string {
  return node === null ? String(offset) : `${String(offset)}-${String(node)}`;
}
