/** Label files: what is read, and that all problems are listed with their lines and without contents. */
import { describe, expect, it } from 'vitest';
import { parseLabels } from '../../../src/cli/labels/label-file.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';

const party = 'alice::1220ab';

function problemsOf(text: string, format: 'csv' | 'json' = 'csv'): readonly string[] {
  try {
    parseLabels(text, format);
  } catch (error) {
    if (!(error instanceof IndexerError) || error.code !== 'LABELS_REFUSED') throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
  return [];
}

describe('a label file', () => {
  it('in CSV has parties and instruments, with quotes, line breaks of Windows and a byte order mark', () => {
    const text = [
      '\uFEFFnote,party,label,dso,admin,instrument_id,name,symbol,decimals',
      `"says ""hi"", twice",${party},"Alice, Bob & Co.",,,,,,`,
      `,DSO::1220d5,The DSO,true,,,,,`,
      '',
      ',,,,DSO::1220d5,Amulet,Canton Coin,CC,10',
    ].join('\r\n');
    expect(parseLabels(text, 'csv')).toEqual({
      parties: [
        { party, label: 'Alice, Bob & Co.', note: 'says "hi", twice', isDso: false },
        { party: 'DSO::1220d5', label: 'The DSO', note: null, isDso: true },
      ],
      instruments: [
        { admin: 'DSO::1220d5', instrumentId: 'Amulet', name: 'Canton Coin', symbol: 'CC', decimals: 10, note: null },
      ],
    });
  });

  it.each([
    ['a list', (rows: readonly string[]) => `[\n${rows.join(',\n')}\n]\n`],
    ['lines', (rows: readonly string[]) => rows.join('\n')],
  ])('in JSON is %s of objects', (_, join) => {
    const rows = [
      `{"party": "${party}", "label": "Alice \\"A\\" {}", "note": null}`,
      `{"party": "DSO::1220d5", "label": "The DSO", "dso": true}`,
      `{"admin": "DSO::1220d5", "instrument_id": "Amulet", "name": "Canton Coin", "decimals": 0}`,
    ];
    expect(parseLabels(join(rows), 'json')).toEqual({
      parties: [
        { party, label: 'Alice "A" {}', note: null, isDso: false },
        { party: 'DSO::1220d5', label: 'The DSO', note: null, isDso: true },
      ],
      instruments: [
        { admin: 'DSO::1220d5', instrumentId: 'Amulet', name: 'Canton Coin', symbol: null, decimals: 0, note: null },
      ],
    });
  });

  it('lists all problems at once, with the line on which each record begins', () => {
    const text = [
      'party,label,note,dso',
      'alice,Alice,,',
      `${party},"two`,
      `lines",,`,
      `b::12,${'x'.repeat(101)},,maybe`,
      'c::12,,,',
      `${party},Again,,`,
      'd::12, D,,true',
      'e::12,E,,true',
      'f::12,F\u202E,,',
      'g::12,G\u00A0H,,',
      'h::12,H',
      ',,only a note,',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      'line 2: expected party to be a complete party id, hint and fingerprint, such as alice::1220ab…',
      'line 3: label has a control character, or one that is not visible',
      'line 5: label is longer than 100 characters',
      'line 5: dso has to be true or false',
      'line 6: label is missing',
      'line 7: the party of line 3 again',
      'line 8: label begins or ends with a space',
      'line 9: line 8 names the DSO already',
      'line 10: label has a control character, or one that is not visible',
      'line 11: label has a control character, or one that is not visible',
      'line 12: expected 4 values, got 2',
      'line 13: expected either party and label, or admin, instrument_id and name',
    ]);
  });

  it('names the line of a text that cannot be read', () => {
    expect(problemsOf('')).toEqual(['line 1: there is no header line']);
    expect(problemsOf('party,label\n')).toEqual(['line 1: there are no labels']);
    expect(problemsOf(`party,label\n${party},A\n${party},"B`)).toEqual([
      'line 3: a quoted value does not end, or text follows it',
    ]);
    expect(problemsOf(`party,label\n"${party}"x,A`)).toEqual([
      'line 2: a quoted value does not end, or text follows it',
    ]);
    expect(problemsOf(`${party},Alice Secret\n`)).toEqual([
      'line 1: column 1 of the header is not one of: party, label, dso, admin, instrument_id, name, symbol, decimals, note',
      'line 1: column 2 of the header is not one of: party, label, dso, admin, instrument_id, name, symbol, decimals, note',
    ]);
    expect(problemsOf(`{"party": "${party}", "label": "A"}\n{"party":`, 'json')).toEqual([
      'line 2: expected a list of JSON objects, or one JSON object per line',
    ]);
    expect(problemsOf(`[{"party": "${party}",\n "label": ["Secret"], "Secret": 1}]`, 'json')).toEqual([
      'line 1: a field is not one of: party, label, dso, admin, instrument_id, name, symbol, decimals, note',
      'line 1: label has to be a text, a number or a boolean',
      'line 1: label is missing',
    ]);
  });

  it('reads long texts without end in linear time, and lists at most 100 problems', () => {
    for (const text of [`party,label\n"${'x'.repeat(8_000_000)}`, `party,label\n${'""'.repeat(4_000_000)}`]) {
      expect(problemsOf(text)).toHaveLength(1);
    }
    expect(problemsOf(`[{"party":"${'\\'.repeat(8_000_000)}`, 'json')).toHaveLength(1);
    const many = problemsOf(`party,label\n${'x,y\n'.repeat(1_000)}`);
    expect([many.length, many.at(-1)]).toEqual([101, 'and 1899 more']);
  });

  it('has no contents in the message', () => {
    const text = `party,label,dso,note\nSecret,Secret,Secret,Secret\n${party},Secret\nSecret::12,"Secret\u0007",true,\n`;
    expect(problemsOf(text).length).toBeGreaterThan(3);
    expect(problemsOf(text).join('\n')).not.toContain('Secret');
    for (const json of [`[{"party": "Secret"`, `{"Secret": "Secret"}`, `Secret`, `{"label": Secret}`]) {
      expect(problemsOf(json, 'json').length).toBeGreaterThan(0);
      expect(problemsOf(json, 'json').join('\n')).not.toContain('Secret');
    }
  });
});
