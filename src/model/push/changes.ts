/**
 * What is pushed to others: changes in the order of history, and the place behind each, from which whoever was cut off goes on. A
 * change is a row of explore.events: a create, an archive, an exercise, an assignment, an unassignment, a change of topology.
 */

/** Above every node of an update. */
export const behindNodes = 2_147_483_647;

/** Behind which a page begins. */
export interface ChangeCursor {
  readonly offset: number;
  /** Null: behind the whole offset. */
  readonly node: number | null;
}

export interface ChangesWanted {
  readonly after: ChangeCursor;
  /** package name:Module:Entity; null: any. */
  readonly template: string | null;
  /** Who witnesses the event; null: anybody. */
  readonly party: string | null;
  /** Values of event_type of explore.events; empty: all. */
  readonly eventTypes: readonly string[];
  /** The role whose rights and row security hold; null: that of the connection, which must be a member of it. */
  readonly role: string | null;
}

export interface Change {
  /** Its place, and the cursor behind it. */
  readonly offset: number;
  readonly node: number;
  /** One object on one line, with the names of explore.events. Postgres writes it, so numbers lose no digit. */
  readonly json: string;
}

export interface ChangesPage {
  /** In the order of offset and node. May be empty although more follows: see `atEnd`. */
  readonly changes: readonly Change[];
  /** Where the next page begins. Never above the checkpoint, but where `after` was. */
  readonly next: ChangeCursor;
  /** Every change up to the checkpoint was looked at. */
  readonly atEnd: boolean;
  /** Null until the seed is complete. */
  readonly checkpoint: number | null;
  /** Behind this offset history is here without a gap; a cursor below it misses something. Null before there is a stream. */
  readonly availableAfter: number | null;
}

/** Looks like `12` or `12-3`: an offset, and a node of it. Undefined for anything else. */
export function parseCursor(text: string): ChangeCursor | undefined {
  const [, offset, node] = /^(\d{1,16})(?:-(\d{1,10}))?$/u.exec(text) ?? [];
  const cursor = { offset: Number(offset), node: node === undefined ? null : Number(node) };
  return Number.isSafeInteger(cursor.offset) && (cursor.node ?? 0) <= behindNodes ? cursor : undefined;
}

/** As {@link parseCursor} takes it. */
export function formatCursor({ offset, node }: ChangeCursor): string {
  return node === null ? String(offset) : `${String(offset)}-${String(node)}`;
}
