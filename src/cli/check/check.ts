/** `check`: is everything in order? One line for each part, with the fix of what is not. Changes nothing. */
import { loadConfig, type Config } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { scrub } from '../../observe/figures/scrub.ts';
import type { Database } from '../../store/connection/database.ts';
import { version } from '../../version.ts';
import { databaseChecks, openForChecks } from './database-checks.ts';
import { ledgerChecks, openLedger } from './ledger-checks.ts';
import type { LedgerView } from './ledger-view.ts';
import { pass, runChecks, skip, type Check, type Finding, type Outcome } from './outcome.ts';
import { streamChecks } from './stream-checks.ts';
import { parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';

/** Prints a line for each check, or JSON with `--json`; 1 when one of them failed. @throws IndexerError USAGE */
export async function checkCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
): Promise<ExitCode> {
  const { json, limitMs, rest } = checkArguments(argv);
  const outcomes = await allOutcomes(rest, env, limitMs);
  const ok = outcomes.every(({ state }) => state !== 'fail');
  if (json) print(scrub(JSON.stringify({ ok, version, node: process.version, checks: outcomes })));
  else for (const line of lines(outcomes)) print(scrub(line));
  return ok ? ExitCode.stopped : ExitCode.different;
}

function checkArguments(argv: readonly string[]): { json: boolean; limitMs: number; rest: readonly string[] } {
  const given = parse(commandNamed('check'), argv);
  const seconds = given.text('timeout') ?? '5';
  const limit = /^\d{1,2}$/.test(seconds) ? Number(seconds) : 0;
  if (limit < 1 || limit > 60) throw misuse('--timeout takes seconds, 1 to 60', 'ledger-indexer check --timeout 10');
  return { json: given.has('json'), limitMs: limit * 1000, rest: given.options };
}

async function allOutcomes(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<readonly Outcome[]> {
  let config: Config;
  try {
    config = loadConfig(words, env);
  } catch (thrown) {
    return [failed('configuration', thrown)];
  }
  const stop = new AbortController();
  const first = one('configuration', pass('every option is known and has a value it can have'));
  const sides = await openSides(config, limitMs, stop.signal);
  const { ledger, database } = sides;
  try {
    const checks = [first, ...sides.ledgerChecks, ...sides.databaseChecks, ...streamChecks(ledger, database)];
    return await runChecks(checks, limitMs);
  } finally {
    stop.abort();
    await database?.close(0);
  }
}

interface Sides {
  readonly ledger: LedgerView | undefined;
  readonly ledgerChecks: readonly Check[];
  readonly database: Database | undefined;
  readonly databaseChecks: readonly Check[];
}

/** What of each side can be asked; a side that cannot even be opened is one failed line. */
async function openSides(config: Config, limitMs: number, signal: AbortSignal): Promise<Sides> {
  const { url: ledgerUrl } = config.ledger;
  const { url: databaseUrl } = config.database;
  const inside = (name: string, what: string): Check[] => [
    one(name, skip(`${what}: it runs embedded in the same process, there is nothing to check`)),
  ];
  const opened = async <T>(
    name: string,
    open: () => Promise<T> | T,
  ): Promise<{ side?: T; broken: readonly Check[] }> => {
    try {
      return { side: await open(), broken: [] };
    } catch (thrown) {
      const { name: _name, ...finding } = failed(name, thrown);
      return { broken: [one(name, finding)] };
    }
  };
  const ledger =
    ledgerUrl === undefined ? undefined : await opened('ledger', () => openLedger(config, ledgerUrl, limitMs, signal));
  const database =
    databaseUrl === undefined ? undefined : await opened('postgres', () => openForChecks(config, databaseUrl, limitMs));
  return {
    ledger: ledger?.side,
    ledgerChecks: ledger?.side
      ? ledgerChecks(ledger.side)
      : (ledger?.broken ?? inside('ledger', 'LEDGER_URL is not set')),
    database: database?.side,
    databaseChecks: database?.side
      ? databaseChecks(database.side, config)
      : (database?.broken ?? inside('postgres', 'DATABASE_URL is not set')),
  };
}

function one(name: string, finding: Finding): Check {
  return { name, run: () => Promise.resolve(finding) };
}

function failed(name: string, thrown: unknown): Outcome {
  const { message, remedy, code } = toIndexerError(thrown);
  return { name, state: 'fail', found: message, fix: remedy, code };
}

const marks = { pass: '✓', warn: '!', fail: '✗', skip: '-' } as const;

function lines(outcomes: readonly Outcome[]): readonly string[] {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  const indent = ' '.repeat(width + 4);
  const all = outcomes.flatMap(({ name, state, found, fix, code }) => [
    `${marks[state]} ${name.padEnd(width)}  ${code === undefined ? '' : `${code}: `}${found.replaceAll('\n', `\n${indent}`)}`,
    ...(fix !== undefined ? [`${indent}fix: ${fix}`] : []),
  ]);
  const count = (wanted: Outcome['state']): number => outcomes.filter(({ state }) => state === wanted).length;
  const failures = count('fail');
  const warnings = count('warn');
  const failed = failures === 0 ? 'nothing failed' : `${String(failures)} failed`;
  return [...all, '', warnings === 0 ? failed : `${failed}, ${String(warnings)} to see to`];
}
