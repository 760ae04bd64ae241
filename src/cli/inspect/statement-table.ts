/** An account statement as a table for people: shortened parties, US dollars with two decimal places, and totals. */
import { roundDecimal } from '../../store/reads/decimal.ts';
import type { AccountStatementRow } from '../../store/reads/statement-row.ts';
import type { AccountTotal } from '../../store/reads/statement-totals.ts';
import { aligned } from '../command-line/aligned.ts';
import { visible, type RowFormat } from '../command-line/output.ts';

/** Titles of the table, in order. */
const titles = [
  'offset',
  'time',
  'instrument',
  'admin',
  'account',
  'kind',
  'counterparty',
  'net',
  'balance',
  'locked',
  'usd',
  'gross in',
  'gross out',
  'reason',
] as const;
const rightAligned: ReadonlySet<string> = new Set([
  'offset',
  'net',
  'balance',
  'locked',
  'usd',
  'gross in',
  'gross out',
]);
/** Kinds of changes in which holdings were only merged or split. */
const internalKinds: ReadonlySet<string> = new Set(['merge', 'split', 'change']);

/** Every fingerprint begins with 1220. Eight more digits differ for all parties of one hint in practice. */
const fingerprintLength = 12;

/**
 * The hint of a party and the beginning of its fingerprint. A party whose short form another party of the statement
 * already has is printed completely.
 */
class ShortParties {
  readonly #parties = new Map<string, string>();

  shorten(party: string): string {
    const separatorIndex = party.lastIndexOf('::');
    if (separatorIndex < 0 || party.length <= separatorIndex + fingerprintLength + 3) return party;
    const shortForm = `${party.slice(0, separatorIndex + 2 + fingerprintLength)}…`;
    const known = this.#parties.get(shortForm) ?? party;
    this.#parties.set(shortForm, known);
    return known === party ? shortForm : party;
  }
}

export class StatementTable {
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #shortParties = new ShortParties();
  readonly #labels = new Map<string, string>();

  /** @param columns names of the columns of the rows */
  constructor(columns: readonly string[]) {
    this.#indexes = new Map(columns.map((name, index) => [name, index]));
  }

  get format(): RowFormat<AccountStatementRow> {
    return {
      columns: titles.map((title) => (rightAligned.has(title) ? { title, right: true } : { title })),
      lines: (row) => [this.#cellsOf(row)],
      json: (row) => JSON.stringify(row),
    };
  }

  #cellsOf(row: AccountStatementRow): readonly string[] {
    const cell = (name: string): string => row[this.#indexes.get(name) ?? -1] ?? '';
    const [kind, owners] = [cell('kind'), cell('other_owners')];
    const isChange = kind !== 'opening' && kind !== 'closing';
    return [
      cell('offset'),
      cell('record_time').replace(/\.\d+Z$/, 'Z'),
      cell('instrument_id'),
      this.party(cell('instrument_admin')),
      this.account(cell('provider'), cell('account_id')),
      internalKinds.has(kind) ? `${kind} (internal)` : kind,
      owners === ''
        ? ''
        : owners
            .split(', ')
            .map((owner) => this.#counterparty(owner))
            .join(', '),
      isChange ? cell('net') : '',
      cell('balance'),
      cell('locked'),
      usdText(cell('usd')),
      isChange ? cell('amount_in') : '',
      isChange ? cell('amount_out') : '',
      cell('reason'),
    ];
  }

  /** Labels of parties that later rows name. */
  addLabels(labels: ReadonlyMap<string, string>): void {
    for (const [party, label] of labels) this.#labels.set(party, label);
  }

  /** A label does not replace the party: labels are not unique. */
  #counterparty(party: string): string {
    const label = this.#labels.get(party);
    return label === undefined ? this.party(party) : `${label} (${this.party(party)})`;
  }

  party(party: string): string {
    return this.#shortParties.shorten(party);
  }

  account(provider: string, accountId: string): string {
    return [...(provider === '' ? [] : [`at ${this.party(provider)}`]), ...(accountId === '' ? [] : [accountId])].join(
      ' ',
    );
  }
}

function usdText(usd: string): string {
  return usd === '' ? '' : roundDecimal(usd, 2);
}

/** Lines with the opening balance, the sum of the changes of each kind, and the closing balance of each account. */
export function totalLines(totals: readonly AccountTotal[], table: StatementTable): readonly string[] {
  if (totals.length === 0) return [];
  const rows = totals.flatMap((total) => {
    const account = table.account(total.provider ?? '', total.account_id ?? '');
    const first = [total.instrument_id ?? '', table.party(total.instrument_admin ?? ''), account].map(visible);
    return [
      [...first, 'opening', '', total.opening, usdText(total.opening_usd ?? ''), '', ''],
      ...total.kinds.map(({ kind, changes, net, usd, amount_in: amountIn, amount_out: amountOut }) => {
        const sums = [String(changes), net, usdText(usd ?? ''), amountIn, amountOut];
        return ['', '', '', internalKinds.has(kind) ? `${kind} (internal)` : kind, ...sums];
      }),
      ['', '', '', 'closing', '', total.closing, usdText(total.closing_usd ?? ''), '', ''],
    ];
  });
  const header = ['totals', 'admin', 'account', 'kind', 'changes', 'amount', 'usd', 'gross in', 'gross out'];
  const columns = header.map((_, index) => (index > 3 ? { right: true as const } : {}));
  return aligned([header, ...rows], { columns }).map((line) => line.trimEnd());
}
