/** Tests the error catalog. Every error that reaches an operator has a remedy. */
import { describe, expect, it } from 'vitest';
import { catalogue, type ErrorCode } from '../../src/errors/catalogue.ts';
import { IndexerError, withContext } from '../../src/errors/indexer-error.ts';

const codes = Object.keys(catalogue) as ErrorCode[];
const withoutRemedy = codes.filter((code) => catalogue[code].remedy === undefined);

describe('the error catalogue', () => {
  it('has no general remedy for failed preconditions, because the code that throws them sets the remedy', () => {
    const refusals = codes.filter((code) => code.endsWith('_REFUSED') && !/^(?:LEDGER|STORE)_/.test(code));
    expect(refusals.length).toBeGreaterThan(15);
    expect(refusals.filter((code) => !withoutRemedy.includes(code))).toEqual([]);
  });

  it('has no remedy that only refers to the message', () => {
    const empty = codes.filter((code) => /do what|name what|look at the message/.test(catalogue[code].remedy ?? ''));
    expect(empty).toEqual([]);
  });
});

describe('an IndexerError', () => {
  it('without a remedy is rejected by the compiler and the constructor if its code requires one', () => {
    // @ts-expect-error RESET_REFUSED needs a remedy.
    expect(() => new IndexerError('found', { code: 'RESET_REFUSED' })).toThrow(
      new TypeError('RESET_REFUSED was thrown without a remedy'),
    );
  });

  it.each(withoutRemedy)('with code %s has the remedy with which it was thrown', (code) => {
    const error = new IndexerError('found', { code, remedy: 'run: ledger-indexer check' });
    expect(error.remedy).toBe('run: ledger-indexer check');
    expect(withContext(error, { facts: { offset: 3 } }).remedy).toBe('run: ledger-indexer check');
  });

  it('uses the remedy with which it was thrown instead of the remedy of its code', () => {
    expect(new IndexerError('found', { code: 'STORE_FULL' }).remedy).toBe(catalogue.STORE_FULL.remedy);
    expect(new IndexerError('found', { code: 'STORE_FULL', remedy: 'add a disk' }).remedy).toBe('add a disk');
  });
});
