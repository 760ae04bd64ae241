/** The command line of `verify`, and how it formats results. */
import { describe, expect, it } from 'vitest';
import { parse } from '../../src/cli/command-line/parse.ts';
import { exitCodeOf, formatResults, type VerifyResult } from '../../src/cli/verify/result.ts';
import { verifyArguments, verifyCommand } from '../../src/cli/verify/verify.ts';

const emptySelection = {
  invariants: false,
  tokens: false,
  tail: undefined,
  acs: false,
  at: undefined,
  range: undefined,
  json: undefined,
};

const argumentsOf = (argv: readonly string[]): unknown => verifyArguments(parse(verifyCommand, argv));

describe('verify arguments', () => {
  it.each([
    [[], { invariants: true, acs: true, tail: 1000 }],
    [['--json'], { invariants: true, acs: true, tail: 1000, json: '-' }],
    [['--invariants'], { invariants: true }],
    [['--tokens'], { tokens: true }],
    [['--acs', '--at', '7'], { acs: true, at: 7 }],
    [['--acs', '--at=7', '--json=file.json'], { acs: true, at: 7, json: 'file.json' }],
    [['--tail', '3', '--json', '--invariants'], { invariants: true, tail: 3, json: '-' }],
    [['--range', '3', '9', '--json', 'x'], { range: [3, 9], json: 'x' }],
    [['--invariants', '--database-url', 'postgres://x', '--postgres-schema=s'], { invariants: true }],
  ] as const)('select the comparisons: %j', (argv, expected) => {
    expect(argumentsOf(argv)).toEqual({ ...emptySelection, ...expected });
  });

  it('can contain configuration options', () => {
    const { options } = parse(verifyCommand, ['--invariants', '--database-url', 'postgres://x', '--postgres-schema=s']);
    expect(Object.fromEntries(options.values)).toEqual({ 'database-url': 'postgres://x', 'postgres-schema': 's' });
  });

  it.each([
    [['--at', '7']],
    [['--tail']],
    [['--tail', 'x']],
    [['--tail=-1']],
    [['--range', '3']],
    [['--range', '3', '--invariants']],
  ])('are rejected: %j', (argv) => {
    expect(() => argumentsOf(argv)).toThrow(expect.objectContaining({ code: 'USAGE', exitCode: 2 }) as Error);
  });
});

describe('verify results', () => {
  const result = (change: Partial<VerifyResult>): VerifyResult => ({
    kind: 'acs',
    outcome: 'equal',
    atOffset: 12,
    startedAt: '2026-01-01T00:00:00.000Z',
    seconds: 1.25,
    compared: 5,
    different: 0,
    quarantined: 0,
    findings: [],
    ...change,
  });

  it('are formatted as one line per comparison and difference', () => {
    const differentVerdict = result({
      kind: 'range',
      outcome: 'different',
      fromOffset: 3,
      different: 2,
      quarantined: 1,
      note: 'a note',
      findings: [{ type: 'different', offset: 7, row: 'exercise 1', fields: ['result', 'argument'] }],
    });
    expect(formatResults([result({}), differentVerdict])).toEqual([
      'acs     equal      at offset 12: 5 compared, 0 different, 1.3 s',
      'range   different  offsets 3 to 12: 5 compared, 2 different, the first 1 are listed, 1 explained by quarantine, 1.3 s\n  a note',
      '  different: offset 7; row exercise 1; fields result, argument',
    ]);
  });

  it('determine the exit code: 1 for a difference, 2 for an undecided result, otherwise 0', () => {
    const [equalVerdict, differentVerdict, undecidedVerdict] = (['equal', 'different', 'undecided'] as const).map(
      (outcome) => result({ outcome }),
    );
    if (equalVerdict === undefined || differentVerdict === undefined || undecidedVerdict === undefined)
      throw new Error('three results');
    expect(exitCodeOf([equalVerdict, equalVerdict])).toBe(0);
    expect(exitCodeOf([equalVerdict, undecidedVerdict])).toBe(2);
    expect(exitCodeOf([undecidedVerdict, differentVerdict, equalVerdict])).toBe(1);
  });
});
