/** The rows of an account statement. */

export const statementColumns = [
  'offset',
  'record_time',
  'update_id',
  'provider',
  'account_id',
  'instrument_admin',
  'instrument_id',
  'kind',
  'amount_in',
  'amount_out',
  'net',
  'balance',
  'locked',
  'other_owners',
  'reason',
  'basis',
  'unreadable_holdings',
  'amulet_price',
  'price_source',
  'usd',
] as const;

/** Values as texts, in the order of {@link statementColumns}. Amounts have no trailing zeros; times are in UTC. */
export type AccountStatementRow = readonly (string | null)[];

const ownersIndex = statementColumns.indexOf('other_owners');

/** The owners of the other side of a change. */
export function otherOwnersOf(row: AccountStatementRow): readonly string[] {
  return (row[ownersIndex] ?? '').split(', ').filter((party) => party !== '');
}
