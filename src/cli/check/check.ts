/** `check`: tests configuration, ledger and database without changing anything, and prints a fix for each failure. */
import { ExitCode } from '../../errors/exit-code.ts';
import { scrub } from '../../observe/figures/scrub.ts';
import { version } from '../../version.ts';
import { lineUp } from '../command-line/aligned.ts';
import { json, type Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import type { CheckOutcome } from './outcome.ts';

export const checkCommand: Command = {
  name: 'check',
  summary: 'check configuration, ledger and database; print a fix per failure',
  does: [
    'Checks configuration, token, ledger, rights, WebSocket and database independently, and changes nothing. Each line is',
    'pass, warn, fail or skip, with the exact fix. A check that gets no response ends after the time limit. A part without',
    'LEDGER_URL or DATABASE_URL is embedded: it is checked if the demo of this folder runs.',
  ],
  operands: [],
  flags: [json, { name: 'timeout', value: 'SECONDS', doc: 'time limit of each check, 1 to 60; default 5' }],
  examples: ['check', 'check --json | jq ".checks[] | select(.state == \\"fail\\")"'],
  exits: [
    [0, 'no check failed'],
    [1, 'at least one check failed'],
  ],
  /** Prints one line per check, or JSON with `--json`. Resolves to 1 if a check failed. @throws IndexerError USAGE */
  run: async ({ args, env, print }) => {
    const limitMs = limitOf(args);
    const { allOutcomes: runAllChecks } = await import('./all-checks.ts');
    const outcomes = await runAllChecks(args.options, env, limitMs);
    const isPassed = outcomes.every(({ state }) => state !== 'fail');
    if (args.has('json'))
      print(scrub(JSON.stringify({ ok: isPassed, version, node: process.version, checks: outcomes })));
    else for (const line of lines(outcomes)) print(scrub(line));
    return isPassed ? ExitCode.stopped : ExitCode.different;
  },
};

/** The time limit in milliseconds. */
function limitOf(args: Args): number {
  const seconds = args.text('timeout') ?? '5';
  const limit = /^\d{1,2}$/.test(seconds) ? Number(seconds) : 0;
  if (limit < 1 || limit > 60)
    throw usageError('--timeout takes seconds, 1 to 60', 'ledger-indexer check --timeout 10');
  return limit * 1000;
}

const stateMarks = { pass: '✓', warn: '!', fail: '✗', skip: '-' } as const;

function lines(outcomes: readonly CheckOutcome[]): readonly string[] {
  const line = lineUp(outcomes.map(({ name, state }) => [`${stateMarks[state]} ${name}`]));
  const indent = line(['', '']);
  const printedLines = outcomes.flatMap(({ name, state, found: message, fix, code }) => [
    line([
      `${stateMarks[state]} ${name}`,
      `${code === undefined ? '' : `${code}: `}${message.replaceAll('\n', `\n${indent}`)}`,
    ]),
    ...(fix !== undefined ? [`${indent}fix: ${fix}`] : []),
  ]);
  const count = (stateToCount: CheckOutcome['state']): number =>
    outcomes.filter(({ state }) => state === stateToCount).length;
  const failures = count('fail');
  const warnings = count('warn');
  const failed = failures === 0 ? 'nothing failed' : `${String(failures)} failed`;
  return [...printedLines, '', warnings === 0 ? failed : `${failed}, ${String(warnings)} warnings`];
}
