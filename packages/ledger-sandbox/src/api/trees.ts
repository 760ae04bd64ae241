/**
 * The deprecated tree form of transactions, removed in 3.7. It has the events of the full tree by node id, each in a
 * `value` object that events of other responses do not have.
 */
import type { StoredUpdate } from '../ledger/history.ts';
import type { UpdateFormat } from '../contracts/format.ts';
import type { Renderer } from './render.ts';
import type { Transaction } from '../wire/wire.ts';

function eventsById({ events }: Transaction): object {
  return Object.fromEntries(
    events.map((event) => {
      if ('CreatedEvent' in event)
        return [event.CreatedEvent.nodeId, { CreatedTreeEvent: { value: event.CreatedEvent } }];
      const value = 'ExercisedEvent' in event ? event.ExercisedEvent : event.ArchivedEvent;
      return [value.nodeId, { ExercisedTreeEvent: { value } }];
    }),
  );
}

/** The visible part of a stored transaction, as the value of a `TransactionTree`; undefined if no part is visible. */
export function treeOf(renderer: Renderer, storedUpdate: StoredUpdate, format: UpdateFormat): object | undefined {
  if (
    storedUpdate.update === undefined ||
    !('Transaction' in storedUpdate.update) ||
    format.transactions === undefined
  ) {
    return undefined;
  }
  // A tree has no archives. It has exercises, whatever shape is requested.
  const effectsFormat = { ...format.transactions, shape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' } as const;
  const visibleTransaction = renderer.transaction(
    storedUpdate.update.Transaction.value,
    storedUpdate.archived,
    effectsFormat,
  );
  if (visibleTransaction === undefined) return undefined;
  const { updateId, commandId, workflowId, effectiveAt, offset, synchronizerId, traceContext, recordTime } =
    visibleTransaction;
  const head = { updateId, commandId, workflowId, effectiveAt, offset, eventsById: eventsById(visibleTransaction) };
  return { ...head, synchronizerId, traceContext, recordTime };
}

/** The frame of an update in tree form; undefined if the reader may not see it, or if trees do not support its kind. */
export function transactionTree(
  renderer: Renderer,
  storedUpdate: StoredUpdate,
  format: UpdateFormat,
): string | undefined {
  if (storedUpdate.update !== undefined && 'Reassignment' in storedUpdate.update)
    return renderer.update(storedUpdate, format);
  const value = treeOf(renderer, storedUpdate, format);
  return value === undefined ? undefined : JSON.stringify({ update: { TransactionTree: { value } } });
}
