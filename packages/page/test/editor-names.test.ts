/** Names that the editor of the query page suggests, and axes of its charts. */
import { describe, expect, it } from 'vitest';

type Views = readonly {
  readonly schema: string;
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly comment: string | null }[];
}[];
type Suggest = (
  statement: string,
  caret: number,
  views: Views,
  isRequested: boolean,
) => { readonly from: number; readonly suggestions: readonly { readonly insert: string }[] };
interface Answer {
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  readonly rows: readonly (readonly (string | null)[])[];
}
interface Plan {
  readonly by: string;
  readonly labels: readonly string[];
  readonly times: readonly number[] | undefined;
  readonly values: readonly number[];
}

/** Scripts of the page, imported without types. */
const scriptUrl = (name: string): string => new URL(`../src/console/${name}`, import.meta.url).href;
const { suggestionsFor } = (await import(scriptUrl('suggest.js'))) as { suggestionsFor: Suggest };
const { chartPlanOf } = (await import(scriptUrl('chart-plan.js'))) as {
  chartPlanOf: (answer: Answer) => Plan | undefined;
};
const { wordsOf } = (await import(scriptUrl('words.js'))) as {
  wordsOf: (statement: string) => readonly { readonly kind: string; readonly text: string }[];
};

const column = (name: string) => ({ name, type: 'text', comment: null });
const views: Views = [
  { schema: 'explore', name: 'active_contracts', comment: null, columns: ['contract_id', 'payload'].map(column) },
  { schema: 'explore', name: 'updates', comment: null, columns: ['"offset"', 'update_id'].map(column) },
  { schema: 'pqs', name: 'active_contracts', comment: null, columns: ['contract_key'].map(column) },
];

/** The suggestions at the mark `|`. */
function suggestedAt(text: string, isRequested = false): readonly string[] {
  const caret = text.indexOf('|');
  const statement = text.replace('|', '');
  return suggestionsFor(statement, caret, views, isRequested).suggestions.map(({ insert }) => insert);
}

describe('suggestionsFor', () => {
  it.each([
    ['select * from exp|', ['explore.active_contracts', 'explore.updates']],
    ['select * from act|', ['explore.active_contracts', 'pqs.active_contracts']],
    ['select * from pqs.|', ['active_contracts']],
    ['select cont| from explore.active_contracts', ['contract_id', 'explore.active_contracts', 'pqs.active_contracts']],
    ['select c.| from explore.active_contracts as c', ['contract_id', 'payload']],
    ['select c.pay| from explore.active_contracts c', ['payload']],
    ['select off| from explore.updates', ['"offset"']],
    ['select id| from explore.updates where true', ['update_id']],
    ['select updates.| from explore.updates', ['"offset"', 'update_id']],
    ['select w.| from explore.updates where true', []],
    ["select 'exp|' from explore.updates", []],
    ["select 'it''s exp|", []],
    ['select $$ exp|', []],
    ['select 1 -- exp|', []],
    ['select /* exp|', []],
    ['select 1 |', []],
    ['select c|', []],
    ['select 1 from|', []],
    ['select payload| from explore.active_contracts', []],
  ])('for %s returns %j', (text, expected) => {
    expect(suggestedAt(text)).toEqual(expected);
  });

  it('returns columns without a typed character only on request', () => {
    expect(suggestedAt('select | from explore.updates', true).slice(0, 2)).toEqual(['"offset"', 'update_id']);
  });
});

describe('wordsOf', () => {
  it('loses no character, also of incomplete statements', () => {
    for (const text of ["select 'a", '$x$ b $x$ "c', '/* d', "e'' --f\n\u{1f600}\r\n", '$$', '1.5e3 a$b']) {
      expect(
        wordsOf(text)
          .map((word) => word.text)
          .join(''),
      ).toBe(text);
    }
  });
});

describe('chartPlanOf', () => {
  const answer = (names: readonly string[], ...rows: readonly (readonly (string | null)[])[]): Answer => ({
    columns: names.map((name) => ({ name: name.replace('#', ''), isNumber: name.startsWith('#') })),
    rows,
  });

  it('draws numbers over a time that differs in each row', () => {
    const plan = chartPlanOf(answer(['hour', '#n'], ['2026-01-01 01:00:00+00', '1'], ['2026-01-01 02:00:00+00', '2']));
    expect(plan).toMatchObject({ by: 'hour', values: [1] });
    expect((plan?.times?.[1] ?? 0) - (plan?.times?.[0] ?? 0)).toBe(3600);
  });

  it('joins as many texts as distinguish the rows', () => {
    const rows = [
      ['a', 'x', '1'],
      ['a', 'y', '2'],
    ];
    expect(chartPlanOf(answer(['who', 'what', '#n'], ...rows))).toMatchObject({
      by: 'who, what',
      labels: ['a · x', 'a · y'],
      values: [2],
    });
  });

  it.each([
    ['one row', answer(['name', '#n'], ['a', '1'])],
    ['no number', answer(['name'], ['a'], ['b'])],
    ['rows of the same name', answer(['name', '#n'], ['a', '1'], ['a', '2'])],
    ['times that repeat', answer(['hour', '#n'], ['2026-01-01', '1'], ['2026-01-01', '2'])],
    ['an offset', answer(['name', '#created_at_offset'], ['a', '1'], ['b', '2'])],
    ['contract ids', answer(['contract_id', '#n'], [`00${'a1'.repeat(32)}`, '1'], [`00${'b1'.repeat(32)}`, '2'])],
    ['only one value', answer(['name', '#n'], ['a', '1'], ['b', null])],
  ])('draws nothing for %s', (_case, shown) => {
    expect(chartPlanOf(shown)).toBeUndefined();
  });
});
