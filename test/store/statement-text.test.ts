/** Finds the end and the first word of a statement, whatever its strings and comments contain. */
import { describe, expect, it } from 'vitest';
import { readStatement, replaceParameters } from '../../src/store/reads/statement-text.ts';

describe('readStatement()', () => {
  it.each([
    ['select 1', 'select 1', 'select'],
    [' ((VALUES (1)));; ', ' ((VALUES (1)))', 'values'],
    ['select 1; -- done\n/* ; */', 'select 1', 'select'],
    ['-- show\n/* /* */ show */ copy t to stdout', '-- show\n/* /* */ show */ copy t to stdout', 'copy'],
    [`select 'it''s; ' ; `, `select 'it''s; ' `, 'select'],
    [String.raw`select e'\'; ''\';' ;`, String.raw`select e'\'; ''\';' `, 'select'],
    [String.raw`select 'one\' ; -- '`, String.raw`select 'one\' `, 'select'],
    ['select ";" as "a"";"', 'select ";" as "a"";"', 'select'],
    ['select $$;$$, $tag$;$$;$tag$, $1, a$b$;', 'select $$;$$, $tag$;$$;$tag$, $1, a$b$', 'select'],
    ['', '', ''],
    ['/* never closed ; select 1', '/* never closed ; select 1', ''],
    ["select 'never closed ; select 1", "select 'never closed ; select 1", 'select'],
  ])('removes final comments and semicolons: %s', (text, bareText, firstWord) => {
    expect(readStatement(text)).toEqual({ bare: bareText, firstWord, more: false });
  });

  it.each(['select 1; select 2', "select e'\\\\'; commit", ';;commit', 'select a$b$;commit'])(
    'detects a second statement: %s',
    (text) => {
      expect(readStatement(text).more).toBe(true);
    },
  );

  it('reads very long texts in one pass', () => {
    const repeatCount = 200_000;
    const texts = ['(', '/*', '/* a */ ', '--\n', ' ', "'a'", "e'\\''", '$a$', ';', '"'].map((unclosedText) =>
      unclosedText.repeat(repeatCount),
    );
    for (const text of [...texts, `'${'a'.repeat(50 * repeatCount)}`]) expect(readStatement(text).more).toBe(false);
  });
});

describe('replaceParameters()', () => {
  it.each([
    ['a > :from and a <= :TO', 'a > $1 and a <= $2'],
    ['a::from, a::to', 'a::from, a::to'],
    [`':to', "a:to", $$ :to $$, $t$ :to $t$`, `':to', "a:to", $$ :to $$, $t$ :to $t$`],
    [String.raw`e'\':to' || :to`, String.raw`e'\':to' || $2`],
    ['/* :to /* */ :to */ :to -- :to\n:to', '/* :to /* */ :to */ $2 -- :to\n$2'],
    [':tomorrow, :other, :from', ':tomorrow, :other, $1'],
    [':constructor', ':constructor'],
  ])('replaces parameters outside of strings, names and comments: %s', (text, replaced) => {
    const values = new Map([
      ['from', '$1'],
      ['to', '$2'],
    ]);
    expect(replaceParameters(text, values)).toBe(replaced);
  });
});
