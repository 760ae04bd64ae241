/** Totals of an account statement, added up while its rows are read: by account and instrument, and by kind of change. */
import { DecimalSum } from './decimal.ts';

/** Sum of the rows of one kind. */
export interface KindTotal {
  readonly kind: string;
  readonly changes: number;
  readonly amount_in: string;
  readonly amount_out: string;
  readonly net: string;
  /** Sum of the values in US dollars; null if a row has none. */
  readonly usd: string | null;
}

/** Totals of an account and instrument. opening + the sum of net of all kinds = closing. */
export interface AccountTotal {
  readonly instrument_admin: string | null;
  readonly instrument_id: string | null;
  readonly provider: string | null;
  readonly account_id: string | null;
  readonly opening: string;
  readonly opening_usd: string | null;
  readonly closing: string;
  readonly closing_usd: string | null;
  /** Part of the closing balance that has a lock. */
  readonly closing_locked: string;
  readonly kinds: readonly KindTotal[];
}

interface KindSums {
  changes: number;
  readonly amountIn: DecimalSum;
  readonly amountOut: DecimalSum;
  readonly net: DecimalSum;
  /** Undefined if a row has no value in US dollars. */
  usd: DecimalSum | undefined;
}

interface AccountSums {
  readonly account: readonly [
    admin: string | null,
    id: string | null,
    provider: string | null,
    accountId: string | null,
  ];
  opening: string;
  openingUsd: string | null;
  closing: string;
  closingUsd: string | null;
  closingLocked: string;
  readonly kinds: Map<string, KindSums>;
}

/** A row of a statement by the names of its columns. */
export type StatementCells = (column: string) => string | null;

export class StatementTotals {
  readonly #accounts = new Map<string, AccountSums>();

  add(cell: StatementCells): void {
    const sums = this.#sumsOf(cell);
    const [kind, usd] = [cell('kind') ?? '', cell('usd')];
    if (kind === 'opening') {
      Object.assign(sums, { opening: cell('balance') ?? '0', openingUsd: usd });
    } else if (kind === 'closing') {
      const [closing, closingLocked] = [cell('balance') ?? '0', cell('locked') ?? '0'];
      Object.assign(sums, { closing, closingLocked, closingUsd: usd });
    } else {
      addChange(sums.kinds, kind, cell);
    }
  }

  /** Totals in the order in which the accounts first occur. */
  list(): readonly AccountTotal[] {
    return [...this.#accounts.values()].map(({ account, kinds, ...sums }) => ({
      instrument_admin: account[0],
      instrument_id: account[1],
      provider: account[2],
      account_id: account[3],
      opening: sums.opening,
      opening_usd: sums.openingUsd,
      closing: sums.closing,
      closing_usd: sums.closingUsd,
      closing_locked: sums.closingLocked,
      kinds: [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, kindSums]) => totalOf(kind, kindSums)),
    }));
  }

  #sumsOf(cell: StatementCells): AccountSums {
    const account = [cell('instrument_admin'), cell('instrument_id'), cell('provider'), cell('account_id')] as const;
    const key = JSON.stringify(account);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const sums: AccountSums = {
      account,
      opening: '0',
      openingUsd: null,
      closing: '0',
      closingUsd: null,
      closingLocked: '0',
      kinds: new Map(),
    };
    this.#accounts.set(key, sums);
    return sums;
  }
}

function addChange(kinds: Map<string, KindSums>, kind: string, cell: StatementCells): void {
  const sums = kinds.get(kind) ?? {
    changes: 0,
    amountIn: new DecimalSum(),
    amountOut: new DecimalSum(),
    net: new DecimalSum(),
    usd: new DecimalSum(),
  };
  kinds.set(kind, sums);
  sums.changes += 1;
  sums.amountIn.add(cell('amount_in') ?? '0');
  sums.amountOut.add(cell('amount_out') ?? '0');
  sums.net.add(cell('net') ?? '0');
  const usd = cell('usd');
  if (usd === null) sums.usd = undefined;
  else sums.usd?.add(usd);
}

function totalOf(kind: string, { changes, amountIn, amountOut, net, usd }: KindSums): KindTotal {
  return {
    kind,
    changes,
    amount_in: amountIn.toString(),
    amount_out: amountOut.toString(),
    net: net.toString(),
    usd: usd?.toString() ?? null,
  };
}
