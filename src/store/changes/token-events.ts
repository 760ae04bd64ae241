/** Reads the token events of a range of offsets, with the rights of the reader. */
import { escapeIdentifier, type ClientBase } from 'pg';
import type { ReadSchemas } from '../connection/read-schemas.ts';

/** Functions of schema `explore`, by the beginning of the names that their rows have. */
const sources: readonly (readonly [beginning: string, name: string])[] = [
  ['transfer.', 'token_transfer_names'],
  ['allocation.', 'token_allocation_names'],
  ['mint', 'token_supply_names'],
  ['burn', 'token_supply_names'],
  ['holding.', 'token_lock_names'],
];

/** The functions that find these token events. */
export function tokenSources(events: readonly string[]): readonly string[] {
  const used = sources.filter(([beginning]) => events.some((event) => event.startsWith(beginning)));
  return [...new Set(used.map(([, name]) => name))];
}

/** Offsets after `from`, up to and including `upTo`. */
export interface OffsetRange {
  readonly from: number;
  readonly upTo: number;
}

/**
 * Computes the token events of a range from the history, never from a projection.
 * @returns JSON array. Amounts are texts, because JSON numbers lose digits in many programs
 */
export async function readTokenEvents(
  client: ClientBase,
  { explore }: ReadSchemas,
  names: readonly string[],
  { from, upTo }: OffsetRange,
): Promise<string> {
  const schema = escapeIdentifier(explore);
  const all = names.map((name) => `select * from ${schema}.${name}($1, $2)`).join(' union all ');
  const { rows } = await client.query<{ list: string }>(
    `select coalesce(jsonb_agg(to_jsonb(n) || jsonb_build_object('details', json_strip_nulls(json_build_object(
              'event', n.event, 'standard', n.standard, 'owner', n.owner, 'sender', n.sender,
              'sender_provider', n.sender_provider, 'sender_account_id', nullif(n.sender_account_id, ''), 'receiver', n.receiver,
              'receiver_provider', n.receiver_provider, 'receiver_account_id', nullif(n.receiver_account_id, ''),
              'instrument_admin', n.instrument_admin, 'instrument_id', n.instrument_id, 'amount', n.amount::text,
              'transfer_leg_id', n.transfer_leg_id, 'deadline', n.deadline, 'reason', n.reason)))), '[]')::text as list
       from (${all}) n`,
    [from, upTo],
  );
  return rows[0]?.list ?? '[]';
}
