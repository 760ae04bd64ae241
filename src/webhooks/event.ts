/** The request that a change becomes: id, body, and the contract in whose order it is sent. Pure. */
import { createHash } from 'node:crypto';
import { maxNodeId, type Change, type ChangeCursor } from '../model/push/changes.ts';
import type { DeadLetter, Webhook } from '../model/push/webhook.ts';
import { messageId } from './signature.ts';
import type { WindowEvent } from './window.ts';

/** @param isLetter whether it is a dead letter that is sent again */
export function eventOf({ hookId, projection }: Webhook, change: Change, isLetter: boolean): WindowEvent {
  const { offset, node, json, update, event } = change;
  const columns = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const text = (name: string): string => (typeof columns[name] === 'string' ? columns[name] : '');
  const [type, time, mark] =
    update === undefined
      ? [event ?? text('event_type'), text('record_time') || text('effective_at'), text('update_id')]
      : [`projection.${projection ?? ''}`, update.recordTime ?? '', `${update.id ?? ''} ${digestOf(json)}`];
  // The change is used as Postgres wrote it, so that numbers do not pass through JavaScript.
  const body = `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(time)},"data":${json}}`;
  const id = messageId(hookId, offset, node, mark);
  return { change, id, contract: text('contract_id'), body, isLetter, attempts: 0, isDone: false };
}

/** The last event of a webhook that ends. It has the same id whenever it is sent. */
export function endOf({ name, hookId }: Webhook, { offset }: ChangeCursor, now: number): WindowEvent {
  const data = { webhook: name, offset, message: 'every event up to the requested end was accepted' };
  const body = JSON.stringify({ type: 'end', timestamp: new Date(now).toISOString(), data });
  const change = { offset, node: maxNodeId, json: '' };
  return {
    change,
    id: messageId(hookId, offset, maxNodeId, 'end'),
    contract: '',
    body,
    isLetter: false,
    isEnd: true,
    attempts: 0,
    isDone: false,
  };
}

/** After a change of history, another row may have the same number. Then it must not have the same id. */
function digestOf(json: string): string {
  return createHash('sha256').update(json).digest('base64url');
}

export function deadLetterOf({ change, contract, attempts }: WindowEvent, problem: string): DeadLetter {
  return { offset: change.offset, node: change.node, contract, attempts, problem, replay: true };
}

/** Whether two positions are the same. Null is the position before all events. */
export function isSame(left: ChangeCursor | null, other: ChangeCursor | null): boolean {
  return left?.offset === other?.offset && left?.node === other?.node;
}
