/** Names by which clients select changes. */

/** Kinds of changes, the values of event_type of explore.events. */
export const eventTypes = ['created', 'archived', 'exercised', 'assigned', 'unassigned', 'topology'] as const;

/** Token events, under which selected changes are sent. In the order in which a change with several of them gets its name. */
export const tokenEvents = [
  'transfer.pending',
  'transfer.accepted',
  'transfer.completed',
  'transfer.rejected',
  'transfer.withdrawn',
  'transfer.expired',
  'transfer.ended',
  'allocation.pending',
  'allocation.settled',
  'allocation.cancelled',
  'allocation.withdrawn',
  'allocation.expired',
  'allocation.ended',
  'mint',
  'burn',
  'holding.locked',
  'holding.unlocked',
] as const;
export type TokenEvent = (typeof tokenEvents)[number];
