import { describe, expect, it } from 'vitest';

import { WorkTimer } from '../../src/observe/figures/work-clock.ts';

/** A clock that advances only when the test does it. */
function stopped(atMs = 500) {
  let nowMs = atMs;
  const clock = new WorkTimer(() => nowMs);
  return {
    clock,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('work clock', () => {
  it('attributes time to the part that was entered last', () => {
    const { clock, pass: advanceClock } = stopped();
    clock.enter('source');
    advanceClock(1500);
    clock.enter('decode');
    advanceClock(250);
    clock.enter('database');
    advanceClock(3000);
    clock.enter(undefined);
    advanceClock(9999);
    expect(clock.totals()).toEqual({ source: 1.5, decode: 0.25, database: 3 });
  });

  it('includes the current part, so that a hanging commit is visible', () => {
    const { clock, pass: advanceClock } = stopped();
    clock.enter('database');
    advanceClock(60_000);
    expect(clock.totals().database).toBe(60);
    advanceClock(1000);
    expect(clock.totals().database).toBe(61);
    expect(clock.reason()).toMatchObject({ on: 'database', share: 1 });
  });

  it('returns shares of the last ten seconds only', () => {
    const { clock, pass: advanceClock } = stopped();
    clock.enter('source');
    advanceClock(60_000);
    for (let index = 0; index < 110; index += 1) {
      clock.enter('decode');
      advanceClock(17);
      clock.enter('database');
      advanceClock(83);
    }
    const { source, decode, database } = clock.shares();
    expect(source).toBeCloseTo(0, 1);
    expect(decode).toBeCloseTo(0.17, 2);
    expect(database).toBeCloseTo(0.83, 2);
    expect(clock.reason()).toEqual({
      on: 'database',
      share: database,
      sentence: 'database: 83 % of the last 10 s was spent waiting for commits',
    });
  });

  it('ignores a part eleven seconds after it ended', () => {
    for (const offset of [0, 1, 250, 1000]) {
      const { clock, pass: advanceClock } = stopped(offset);
      clock.enter('decode');
      advanceClock(5000);
      clock.enter('source');
      advanceClock(5000);
      expect(clock.shares().decode).toBeCloseTo(0.5, 2);
      advanceClock(6000);
      expect(clock.shares().source).toBeCloseTo(1, 6);
      expect(clock.shares().decode).toBe(0);
    }
  });

  it('divides by its age during its first ten seconds', () => {
    const { clock, pass: advanceClock } = stopped();
    clock.enter('decode');
    advanceClock(3000);
    clock.enter('source');
    advanceClock(1000);
    expect(clock.shares()).toEqual({ source: 0.25, decode: 0.75, database: 0 });
    expect(clock.reason().sentence).toBe('decode: 75 % of the last 4 s was spent decoding frames and building rows');
  });

  it('reports the share of time without an open stream', () => {
    const { clock, pass: advanceClock } = stopped();
    expect(clock.reason().on).toBeUndefined();
    clock.enter('source');
    advanceClock(1500);
    clock.enter(undefined);
    advanceClock(6000);
    const { on: waitingOn, sentence } = clock.reason();
    expect(waitingOn).toBeUndefined();
    expect(sentence).toBe('none: no stream was open for 80 % of the last 8 s');
  });

  it('keeps the sum of its shares at one over a long run', () => {
    const { clock, pass: advanceClock } = stopped();
    for (let index = 0; index < 20_000; index += 1) {
      clock.enter(index % 3 === 0 ? 'source' : index % 3 === 1 ? 'decode' : 'database');
      advanceClock(37);
    }
    const { source, decode, database } = clock.shares();
    expect(source + decode + database).toBeCloseTo(1, 6);
    const totals = clock.totals();
    expect(totals.source + totals.decode + totals.database).toBeCloseTo(740, 3);
  });
});
