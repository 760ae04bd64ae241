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
  /** Node of the update, or number of a projected row; null for the position after all of them at the offset. */
  readonly node: number | null;
  /** Set in a cursor of a user's projection: the SELECT whose rows are numbered. Rows of another one have other numbers. */
  readonly version?: string | undefined;
}

/** Conditions on the meaning of changes, in addition to template, party and kind. A change satisfies all of them. */
export interface ChangeSelection {
  /** Interface through which the contract or the choice is seen, package name:Module:Interface; null for any change. */
  readonly interfaceName: string | null;
  /** Names of choices; empty for all changes. */
  readonly choices: readonly string[];
  /** Token events; empty for all changes. Selected changes are sent under the first of these names that they have. */
  readonly tokenEvents: readonly string[];
  /** Filter as in docs/reference/filters.md; null for all changes. */
  readonly where: string | null;
}

/** End of a stream: its last offset, or the time after which the first update is no longer part of it. */
export type Until = { readonly offset: number } | { readonly time: string };

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
  /** Name of a projection, whose rows are read instead of events. Cannot be combined with the three filters. */
  readonly projection?: string | null | undefined;
  readonly selection?: ChangeSelection | undefined;
  /** Changes after this end are not read. */
  readonly until?: Until | undefined;
}

export interface Change {
  /** The position of the change, and the cursor after it. */
  readonly offset: number;
  readonly node: number;
  /**
   * One JSON object on one line, with the names of explore.events or with the columns of the projection. Postgres writes
   * it, so numbers lose no digit.
   */
  readonly json: string;
  /** Set for a row of a projection: its update, whose columns the row need not have. */
  readonly update?: RowUpdate;
  /** Set if token events are selected: the name under which the change is sent. */
  readonly event?: string;
}

/** The update of a projected row. Both fields are null if it is not stored or not visible, as before a seed. */
export interface RowUpdate {
  readonly id: string | null;
  /** As JSON prints it. */
  readonly recordTime: string | null;
}

export interface ChangesPage {
  /** Changes in the order of offset and node. May be empty although more changes follow, see `atEnd`. */
  readonly changes: readonly Change[];
  /** Position at which the next page begins. Never above the checkpoint, unless `after` was. */
  readonly next: ChangeCursor;
  /** Whether every change up to the checkpoint was examined. */
  readonly atEnd: boolean;
  /** Whether `until` is reached: all changes up to it are in this page or in earlier ones. */
  readonly isComplete?: boolean;
  /** Null until the seed is complete. */
  readonly checkpoint: number | null;
  /**
   * History after this offset is stored without a gap; a cursor below it misses changes. Null if there is no stream
   * yet.
   */
  readonly availableAfter: number | null;
}

/**
 * Parses a cursor like `12`, `12-3` or `12-3@5f3a9c1d`: an offset, a node of the update or number of a row, and the SELECT
 * of a user's projection. Undefined for any other text.
 */
export function parseCursor(text: string): ChangeCursor | undefined {
  const [, offset, node, version] = /^(\d{1,16})(?:-(\d{1,10}))?(?:@([0-9a-f]{8}))?$/u.exec(text) ?? [];
  const cursor = { offset: Number(offset), node: node === undefined ? null : Number(node) };
  if (!Number.isSafeInteger(cursor.offset) || (cursor.node ?? 0) > maxNodeId) return undefined;
  return version === undefined ? cursor : { ...cursor, version };
}

/** Formats a cursor for {@link parseCursor}. */
export function formatCursor({ offset, node, version }: ChangeCursor): string {
  const position = node === null ? String(offset) : `${String(offset)}-${String(node)}`;
  return version === undefined ? position : `${position}@${version}`;
}

/** Whether a cursor has the number of a row of another SELECT than a page that begins at it. */
export function isOfOtherSelect(after: ChangeCursor, { next }: Pick<ChangesPage, 'next'>): boolean {
  return after.version !== undefined && after.version !== next.version;
}
