/** The request that a change becomes: id, body, and the contract in whose order it is sent. Pure. */
import { createHash } from 'node:crypto';
import type { Change } from '../model/push/changes.ts';
import type { DeadLetter, Webhook } from '../model/push/webhook.ts';
import { messageId } from './signature.ts';
import type { WindowEvent } from './window.ts';

/** @param isLetter whether it is a dead letter that is sent again */
export function eventOf({ hookId, projection }: Webhook, change: Change, isLetter: boolean): WindowEvent {
  const { offset, node, json, update } = change;
  const columns = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const text = (name: string): string => (typeof columns[name] === 'string' ? columns[name] : '');
  const [type, time, mark] =
    update === undefined
      ? [text('event_type'), text('record_time') || text('effective_at'), text('update_id')]
      : [`projection.${projection ?? ''}`, update.recordTime ?? '', `${update.id ?? ''} ${digestOf(json)}`];
  // The change is used as Postgres wrote it, so that numbers do not pass through JavaScript.
  const body = `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(time)},"data":${json}}`;
  const id = messageId(hookId, offset, node, mark);
  return { change, id, contract: text('contract_id'), body, isLetter, attempts: 0, isDone: false };
}

/** After a change of history, another row may have the same number. Then it must not have the same id. */
function digestOf(json: string): string {
  return createHash('sha256').update(json).digest('base64url');
}

export function deadLetterOf({ change, contract, attempts }: WindowEvent, problem: string): DeadLetter {
  return { offset: change.offset, node: change.node, contract, attempts, problem, replay: true };
}
