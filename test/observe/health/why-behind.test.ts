/** The delay message of the status page, the remaining time, and the psql command. */
import { describe, expect, it } from 'vitest';
import { CatchUp } from '../../../src/observe/figures/lag.ts';
import { catalogue, type ErrorCode } from '../../../src/errors/catalogue.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { RecentErrors } from '../../../src/observe/health/recent-errors.ts';
import { delayOf } from '../../../src/observe/health/why-behind.ts';
import { connectCommand } from '../../../src/store/connection/connect-command.ts';

const timeShares = { source: 0.05, decode: 0.12, database: 0.83 };

describe('delay message', () => {
  it.each([
    [{ source: 0.9, decode: 0.05, database: 0.05 }, 'source', 'the source is the bottleneck. 90 %'],
    [{ source: 0.1, decode: 0.7, database: 0.2 }, 'decode', 'decoding is the bottleneck. 70 %'],
    [timeShares, 'database', 'the database is the bottleneck. 83 %'],
  ] as const)('names the part with the largest share of time: %j', (shares, cause, sentence) => {
    const delay = delayOf({ state: 'catching_up', reason: '', distance: 1234, timeShares: shares });
    expect(delay).toEqual({
      cause,
      message: expect.stringContaining(`Behind by 1,234 offsets: ${sentence}`) as string,
    });
  });

  it('reports no delay at the ledger end', () => {
    for (const state of ['live', 'idle'] as const) {
      const delay = delayOf({ state, reason: 'the ledger is quiet', distance: 0, timeShares });
      expect(delay).toEqual({ cause: 'none', message: expect.stringMatching(/^Not behind: /) as string });
    }
  });

  it('names no part if all shares of time are small', () => {
    const shares = { source: 0.1, decode: 0.05, database: 0.05 };
    const delay = delayOf({ state: 'live', reason: '', distance: 1, timeShares: shares });
    expect(delay).toEqual({ cause: 'none', message: 'Behind by 1 offset.' });
  });

  it.each([
    ['for 3 s: STORE_UNREACHABLE: no answer', 'database'],
    ['for 3 s: LEDGER_UNREACHABLE: no answer', 'source'],
    ['for 3 s: the connection was lost', 'none'],
  ])('names the side that caused the error: %s', (reason, cause) => {
    expect(delayOf({ state: 'backing_off', reason, distance: 5, timeShares })).toMatchObject({ cause });
  });

  it('reports that the delay is unknown if the ledger end is unknown', () => {
    const reason = 'the ledger end has not been learned for 34 s: LEDGER_UNAUTHENTICATED: refused';
    const delay = delayOf({ state: 'ledger_timeout', reason, distance: 0, timeShares });
    expect(delay).toEqual({ cause: 'source', message: `It is not known whether the stream is behind: ${reason}.` });
  });

  it('states that an operator must act if the indexer is parked', () => {
    const delay = delayOf({ state: 'parked', reason: 'STORE_SCHEMA_MISMATCH: newer', distance: 0, timeShares: null });
    expect(delay).toEqual({
      cause: 'operator',
      message: 'Stopped until an operator acts. STORE_SCHEMA_MISMATCH: newer.',
    });
  });
});

describe('remaining time', () => {
  it('is known only after three samples with a shrinking distance', () => {
    const catchUp = new CatchUp();
    const sampleAt = (second: number, checkpoint: number): void =>
      catchUp.note('catching_up', 1000 * second, checkpoint, 1000);
    sampleAt(0, 0);
    sampleAt(0.5, 50);
    sampleAt(1, 100);
    expect(catchUp.progress()).toMatchObject({ etaSeconds: null, offsetsPerSecond: null });
    sampleAt(2, 200);
    expect(catchUp.progress()).toEqual({ from: 0, percent: 20, offsetsPerSecond: 100, etaSeconds: 8 });
    catchUp.note('live', 3000, 1000, 1000);
    expect(catchUp.progress()).toBeUndefined();
  });

  it('is unknown while the distance grows', () => {
    const catchUp = new CatchUp();
    for (let second = 0; second < 5; second += 1)
      catchUp.note('catching_up', 1000 * second, second, 100 * (second + 1));
    expect(catchUp.progress()?.etaSeconds).toBeNull();
  });
});

describe('RecentErrors', () => {
  it('keeps the eight newest error codes, each once and without secrets', () => {
    const errors = new RecentErrors();
    const fail = (code: ErrorCode): void =>
      errors.add(new IndexerError('at postgres://u:hidden@h/d', { code, remedy: 'wait' }), new Date(0));
    const [first, ...otherCodes] = Object.keys(catalogue).slice(0, 9) as ErrorCode[];
    if (first === undefined) throw new Error('no codes');
    const [second, ...laterCodes] = otherCodes;
    for (const code of [first, second as ErrorCode, first, ...laterCodes]) fail(code);
    expect(errors.all.map(({ code }) => code)).toEqual([...laterCodes.toReversed(), first]);
    expect(errors.all.at(-1)).toMatchObject({ count: 2, message: 'at postgres://u:***@h/d', remedy: 'wait' });
  });
});

describe('connectCommand()', () => {
  it.each([
    ['postgres://u:secret@db.example:5433/ledger', "psql 'postgres://u@db.example:5433/ledger'"],
    [
      'postgres://u:s@h1:5432,h2:5432/l?sslmode=verify-full&sslpassword=s',
      "psql 'postgres://u@h1:5432/l?sslmode=verify-full'",
    ],
    ["postgres://u:s@h/l'$(id)", "psql 'postgres://u@h/l%27$(id)'"],
    ['secret', 'psql "$DATABASE_URL"'],
    // An unescaped slash in the password would make the text after it the database name.
    ['postgres://u:12/secret@h/l', 'psql "$DATABASE_URL"'],
  ])('converts %s to %s', (url, command) => {
    expect(connectCommand(url)).toBe(command);
  });
});
