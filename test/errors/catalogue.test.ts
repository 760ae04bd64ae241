/** Tests the error catalog. Every error that reaches an operator has a remedy. */
import { describe, expect, it } from 'vitest';
import { catalogue, type ErrorCode } from '../../src/errors/catalogue.ts';
import { IndexerError, withContext } from '../../src/errors/indexer-error.ts';

const codes = Object.keys(catalogue) as ErrorCode[];
const withoutRemedy = codes.filter((code) => catalogue[code].remedy === undefined);

describe('error catalogue', () => {
  it('contains no default remedy for *_REFUSED codes of failed preconditions', () => {
    const refusals = codes.filter((code) => code.endsWith('_REFUSED') && !/^(?:LEDGER|STORE)_/.test(code));
    expect(refusals.length).toBeGreaterThan(15);
    expect(refusals.filter((code) => !withoutRemedy.includes(code))).toEqual([]);
  });

  it('contains no remedy that only refers to the message', () => {
    const empty = codes.filter((code) => /do what|name what|look at the message/.test(catalogue[code].remedy ?? ''));
    expect(empty).toEqual([]);
  });
});

describe('IndexerError', () => {
  it('requires a remedy for codes without a default remedy', () => {
    // @ts-expect-error RESET_REFUSED needs a remedy.
    expect(() => new IndexerError('found', { code: 'RESET_REFUSED' })).toThrow(
      new TypeError('RESET_REFUSED was thrown without a remedy'),
    );
  });

  it.each(withoutRemedy)('keeps the remedy of the constructor for code %s', (code) => {
    const error = new IndexerError('found', { code, remedy: 'run: ledger-indexer check' });
    expect(error.remedy).toBe('run: ledger-indexer check');
    expect(withContext(error, { facts: { offset: 3 } }).remedy).toBe('run: ledger-indexer check');
  });

  it('prefers the remedy of the constructor to the default remedy of the code', () => {
    expect(new IndexerError('found', { code: 'STORE_FULL' }).remedy).toBe(catalogue.STORE_FULL.remedy);
    expect(new IndexerError('found', { code: 'STORE_FULL', remedy: 'add a disk' }).remedy).toBe('add a disk');
  });
});
