import { describe, expect, it } from 'vitest';
import { StatementTable, totalLines } from '../../../src/cli/inspect/statement-table.ts';
import { statementColumns } from '../../../src/store/reads/statement-row.ts';
import { StatementTotals } from '../../../src/store/reads/statement-totals.ts';

const fingerprint = (last: string): string => `1220${'ab'.repeat(31)}${last}`;
const dso = `DSO::${fingerprint('00')}`;
const bob = `bob::1220cd${'ef'.repeat(31)}`;

function rowOf(values: Readonly<Record<string, string>>): readonly (string | null)[] {
  return statementColumns.map((name) => values[name] ?? null);
}

function cellsOf(table: StatementTable, values: Readonly<Record<string, string>>): Record<string, string> {
  const { format } = table;
  const [cells = []] = format.lines(rowOf(values));
  return Object.fromEntries(format.columns.map(({ title }, index) => [title, cells[index] ?? '']));
}

describe('statement table', () => {
  it('shortens parties, rounds US dollars and marks changes without a payment', () => {
    const table = new StatementTable(statementColumns);
    const payment = { kind: 'sent', instrument_admin: dso, other_owners: `${bob}, ${dso}`, usd: '-0.125', net: '-1' };
    expect(cellsOf(table, payment)).toMatchObject({
      admin: 'DSO::1220abababab…',
      counterparty: 'bob::1220cdefefef…, DSO::1220abababab…',
      usd: '-0.13',
      net: '-1',
    });
    expect(cellsOf(table, { kind: 'merge', provider: bob, account_id: 'savings' })).toMatchObject({
      kind: 'merge (internal)',
      account: 'at bob::1220cdefefef… savings',
    });
    table.addLabels(new Map([[bob, 'Bob & Co']]));
    expect(cellsOf(table, payment)['counterparty']).toBe('Bob & Co (bob::1220cdefefef…), DSO::1220abababab…');
    expect(cellsOf(table, { kind: 'opening', net: '5', balance: '5' })).toMatchObject({ net: '', balance: '5' });
  });

  it('prints a party completely if another one already has the same short form', () => {
    const table = new StatementTable(statementColumns);
    const other = `DSO::${fingerprint('01')}`;
    expect([dso, other, dso, other].map((party) => table.party(party))).toEqual([
      'DSO::1220abababab…',
      other,
      'DSO::1220abababab…',
      other,
    ]);
    expect(table.party('short::1220ab')).toBe('short::1220ab');
  });

  it('has exact totals for each account and kind, and no dollars if a row has none', () => {
    const totals = new StatementTotals();
    const account = { instrument_admin: dso, instrument_id: 'Amulet', account_id: '' };
    const add = (values: Readonly<Record<string, string>>): void => {
      totals.add((column) => ({ ...account, ...values })[column] ?? null);
    };
    add({ kind: 'opening', net: '1', balance: '1', usd: '0.5' });
    add({ kind: 'sent', amount_in: '0.7', amount_out: '1', net: '-0.3', usd: '-0.15' });
    add({ kind: 'sent', amount_in: '0', amount_out: '0.0000000001', net: '-0.0000000001' });
    add({ kind: 'closing', net: '0', balance: '0.6999999999', locked: '0.1', usd: '0.35' });
    expect(totals.list()).toEqual([
      {
        ...account,
        provider: null,
        opening: '1',
        opening_usd: '0.5',
        closing: '0.6999999999',
        closing_usd: '0.35',
        closing_locked: '0.1',
        kinds: [
          { kind: 'sent', changes: 2, amount_in: '0.7', amount_out: '1.0000000001', net: '-0.3000000001', usd: null },
        ],
      },
    ]);
    const table = new StatementTable(statementColumns);
    expect(totalLines(totals.list(), table).map((line) => line.split(/ +/))).toEqual([
      ['totals', 'admin', 'account', 'kind', 'changes', 'amount', 'usd', 'gross', 'in', 'gross', 'out'],
      ['Amulet', 'DSO::1220abababab…', 'opening', '1', '0.50'],
      ['', 'sent', '2', '-0.3000000001', '0.7', '1.0000000001'],
      ['', 'closing', '0.6999999999', '0.35'],
    ]);
  });
});
