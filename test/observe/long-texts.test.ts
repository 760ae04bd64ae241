/**
 * Texts of several megabytes from users: a statement on the query page can produce an error message or a cell with any
 * text. A search blocks the process, so a search with quadratic time would stop the indexer for minutes.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeFormula } from '../../src/model/push/csv.ts';
import { scrub } from '../../src/observe/figures/scrub.ts';
import { expectProperty } from '../support/chance/property.ts';

/** With quadratic time, one of these texts takes minutes. The limit makes the test fail earlier. */
const limitMs = 40_000;
const characters = 1_000_000;
const longText = (repeatedText: string): string => repeatedText.repeat(characters / repeatedText.length);

const textOf = (textParts: readonly string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...textParts), { maxLength: 24 }).map((arbitraryText) => arbitraryText.join(''));

describe('scrub()', () => {
  it.each([
    'eyJ',
    '://:',
    '://',
    'bearer ',
    'lir_',
    'eyJa.',
    '://a:',
    '\\',
    String.raw`\u202`,
    String.raw`\udb40`,
    '\u200B',
  ])(
    'scans a long run of %j in linear time',
    (repeatedText) => {
      expect(scrub(longText(repeatedText))).toBeTypeOf('string');
    },
    limitMs,
  );

  it('replaces the same matches as its regular expressions', () => {
    const textParts = [
      'eyJ',
      '.',
      'a',
      '-',
      '_',
      'lir_aaaaaaaa',
      ' ',
      'Bearer ',
      '://',
      '/',
      ':',
      '@',
      '?',
      '#',
      '"',
      '\\',
    ];
    expectProperty(
      fc.property(textOf(textParts), (text) => {
        const scrubbedText = text
          .replaceAll(/eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, '[token]')
          .replaceAll(/lir_[\w-]{8,}/g, '[token]')
          .replaceAll(/(bearer)\s+[\w.~+/=-]+/gi, '$1 [token]')
          .replaceAll(/:\/\/([^\s:/@"\\]*):[^\s"\\]*@/g, '://$1:***@')
          .replaceAll(/(:\/\/[^\s?#"\\]*\?)[^\s#"\\]+/g, '$1***');
        expect(scrub(text)).toBe(scrubbedText);
      }),
      5_000,
    );
  });
});

describe('escapeFormula()', () => {
  it.each(['\n', '\t ', '\n='])(
    'prefixes a long run of %j in linear time',
    (repeatedText) => {
      expect(escapeFormula(longText(repeatedText))).toMatch(/^'/);
    },
    limitMs,
  );

  it('inserts the same apostrophes as its regular expressions', () => {
    const textParts = ['=', '+', '-', '@', '＝', ';', '|', '\t', '\r', '\n', ' ', '\u00A0', 'a', "'"];
    expectProperty(
      fc.property(textOf(textParts), (text) => {
        const scrubbedText = text
          .replaceAll(/(^|[;|\t\r\n])(\s*)(?=[=+\-@＝＋－＠])/gu, "$1'$2")
          .replace(/^(?=[\t\r\n])/u, "'");
        expect(escapeFormula(text)).toBe(scrubbedText);
      }),
      5_000,
    );
  });
});
