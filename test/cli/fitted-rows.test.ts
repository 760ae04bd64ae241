/** Rows on a terminal: no line is wider than the terminal, whatever the rows contain. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitRows } from '../../src/cli/command-line/output.ts';
import { expectProperty } from '../support/chance/property.ts';

const id = { title: 'contract_id' };
const name = { title: 'name' };
const count = { title: 'n', right: true } as const;

describe('fitRows()', () => {
  it('returns an aligned table without truncation if all columns fit', () => {
    expect(
      fitRows(
        [name, count],
        [
          ['one', '7'],
          ['three', '1234'],
        ],
        40,
      )([
        ['one', '7'],
        ['three', '1234'],
      ]),
    ).toBe('name      n\none       7\nthree  1234\n');
  });

  it('truncates the widest values, but never numbers', () => {
    const rows = [[`00${'a'.repeat(130)}`, 'short', '12345678901234567890']];
    expect(fitRows([id, name, count], rows, 50)(rows)).toBe(
      'contract_id            name                      n\n00aaaaaaaaaaaaaaaaaa…  short  12345678901234567890\n',
    );
  });

  it('prints the titles once and truncates later values that exceed the column widths', () => {
    const format = fitRows([name, { title: 'note' }], [['a', 'b']], 30);
    expect(format([['a', 'b']])).toBe('name  note\na     b\n');
    expect(format([['longer', 'the rest of the line is for the last']])).toBe('lon…  the rest of the line is…\n');
  });

  it('counts wide characters as two columns, and combining characters as zero', () => {
    const rows = [
      ['漢字漢字', 'e\u0301e\u0301e\u0301'],
      ['x', 'y'],
    ];
    expect(fitRows([name, { title: 'z' }], rows, 13)(rows)).toBe(
      'name      z\n漢字漢字  e\u0301e\u0301e\u0301\nx         y\n',
    );
  });
});

describe('fitRows() on a narrow terminal', () => {
  it('prints one line per column if the columns do not fit', () => {
    const columns = ['one', 'two', 'three', 'four'].map((title) => ({ title }));
    const rows = [
      ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(12), 'd'],
      ['x'.repeat(14), '', '', ''],
    ];
    const format = fitRows(columns, rows, 20);
    expect(format(rows)).toBe(
      [
        '-[ 1 ]--------------',
        'one    aaaaaaaaaaaa…',
        'two    bbbbbbbbbbbb…',
        'three  cccccccccccc',
        'four   d',
        '-[ 2 ]--------------',
        'one    xxxxxxxxxxxx…',
        'two',
        'three',
        'four',
        '',
      ].join('\n'),
    );
    expect(format([['next', '', '', '']]).split('\n')[0]).toBe('-[ 3 ]--------------');
  });

  it('prints one line per column if the numbers do not fit on one line', () => {
    const rows = [['1'.repeat(30), '2'.repeat(30)]];
    expect(fitRows([count, { title: 'm', right: true }], rows, 50)(rows)).toContain(`n  ${'1'.repeat(30)}\n`);
  });
});

it('fitRows() never exceeds the terminal width, and does not truncate a single column that fits', () => {
  const cell = fc.oneof(fc.string({ maxLength: 8 }), fc.string({ unit: 'grapheme', maxLength: 120 }), fc.constant(''));
  const table = fc.integer({ min: 1, max: 9 }).chain((columns) =>
    fc.record({
      titles: fc.array(fc.string({ minLength: 1, maxLength: 30 }), { minLength: columns, maxLength: columns }),
      rows: fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 5 }),
      width: fc.integer({ min: 8, max: 200 }),
    }),
  );
  expectProperty(
    fc.property(table, ({ titles, rows, width }) => {
      const flatText = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ');
      const lines = rows.map((row) => row.map(flatText));
      const output = fitRows(
        titles.map((title) => ({ title: flatText(title) })),
        lines,
        width,
      )(lines);
      for (const line of output.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(width);
      const texts = [titles.map(flatText), ...lines].flat();
      const fitsWidth = texts.every((text) => text.length <= width && /^[ -~]*$/.test(text));
      if (titles.length === 1 && fitsWidth) expect(output).not.toContain('…');
    }),
  );
});

/**
 * Computes the width independently of the program, for the generated characters. A character outside of ASCII takes at
 * most two columns.
 */
function widthOf(line: string): number {
  return Array.from(line).filter((character) => !/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)).length;
}
