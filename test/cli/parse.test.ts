/** Tests the rules that the command lines of all commands have in common, for flags, their values and operands. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandNamed, commands as allCommands, runCommandNamed, type CommandCall } from '../../src/cli/commands.ts';
import { parse, type CommandFlag, type Syntax } from '../../src/cli/command-line/parse.ts';
import { completionVerbs } from '../../src/cli/ledger/completions.ts';
import { contractVerbs } from '../../src/cli/ledger/contracts.ts';
import { nodeVerbs } from '../../src/cli/ledger/node.ts';
import { packageVerbs } from '../../src/cli/ledger/packages.ts';
import { partyVerbs } from '../../src/cli/ledger/parties.ts';
import { submitVerbs } from '../../src/cli/ledger/submit.ts';
import { updateVerbs } from '../../src/cli/ledger/updates.ts';
import { verbArguments } from '../../src/cli/ledger/verb.ts';
import { optionList } from '../../src/config/option-table.ts';
import { expectProperty } from '../support/chance/property.ts';

/** No server listens on these ports. They are used in case a command begins its work. */
const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', LEDGER_URL: 'http://127.0.0.1:1' };

function run(verb: string, argv: readonly string[]): Promise<unknown> {
  const ignore = (): void => undefined;
  const call: CommandCall = { argv, env, stop: AbortSignal.abort(), write: ignore, print: ignore };
  return runCommandNamed(verb, call);
}

/** The meaning of a command line, independent of the order of its arguments. */
function parsedArguments(syntax: Syntax, argv: readonly string[]): object {
  const args = parse(syntax, argv);
  const flags = syntax.flags.map(({ name }) => [name, args.has(name), args.texts(name)]);
  return { operands: args.operands, flags, options: args.options };
}

const commands = allCommands.filter(({ name }) => name !== 'ledger');

/** Operands as users write them: none begins with a hyphen. */
const wordArbitrary = fc
  .string({ minLength: 1, maxLength: 12 })
  .filter((text) => !text.startsWith('-') && !text.includes('\0'));

/** A flag with its values, as a group of words that must stay together. */
function groupOf({ name, value, type }: CommandFlag): fc.Arbitrary<readonly string[]> {
  if (value === undefined) return fc.constant([`--${name}`]);
  const isOfType = (text: string): boolean => type === undefined || 'value' in type.parse(text);
  const flagArbitrary =
    type === undefined ? wordArbitrary : fc.constantFrom(...['0', '17', '2GB', '1.5TiB'].filter(isOfType));
  const values = fc.tuple(...value.split(' ').map(() => flagArbitrary));
  const valueArgs = values.map((texts) => [`--${name}`, ...texts]);
  const inline = values.map(([first = '', ...restArgs]) => [`--${name}=${first}`, ...restArgs]);
  return value.startsWith('[') ? inline : fc.oneof(valueArgs, inline);
}

/** The groups of a call: one per operand, and one per flag with its values. */
function callArbitrary(
  syntax: Syntax,
): fc.Arbitrary<{ readonly operands: readonly string[][]; readonly flags: readonly (readonly string[])[] }> {
  const operands = fc.tuple(
    ...syntax.operands.map(({ words }) => (words === undefined ? wordArbitrary : fc.constantFrom(...words))),
  );
  const flags = fc.subarray([...syntax.flags]).chain((chosenFlags) => fc.tuple(...chosenFlags.map(groupOf)));
  const options =
    syntax.options === false
      ? fc.constant([])
      : fc.subarray([['--postgres-schema', 'march'], ['--no-ledger-topology'], ['--http-port=1']]);
  return fc.record({
    operands: operands.map((words) => words.map((each) => [each])),
    flags: fc.tuple(flags, options).map((pairs) => pairs.flat()),
  });
}

/** Groups in random order; the operands keep their order. */
function mixedArgs(
  operands: readonly (readonly string[])[],
  flags: readonly (readonly string[])[],
  picks: readonly boolean[],
  order: readonly number[],
): readonly string[] {
  const shuffledFlags = flags.map((group, index) => [order[index] ?? 0, group] as const).sort(([a], [b]) => a - b);
  const [left, right] = [[...operands], shuffledFlags.map(([, group]) => group)];
  const words: string[] = [];
  for (const isOperandFirst of picks) words.push(...((isOperandFirst ? left.shift() : right.shift()) ?? []));
  return [...words, ...left.flat(), ...right.flat()];
}

describe.each(commands.map((command) => [command.name, command] as const))('%s', (_, command) => {
  it('parses to the same arguments in any order that keeps the operand order', () => {
    const call = callArbitrary(command);
    const picks = fc.array(fc.boolean(), { maxLength: 12 });
    const order = fc.array(fc.nat(), { maxLength: 12 });
    expectProperty(
      fc.property(call, picks, order, ({ operands, flags }, selections, flagOrder) => {
        const flatArgs = [...operands.flat(), ...flags.flat()];
        expect(parsedArguments(command, mixedArgs(operands, flags, selections, flagOrder))).toEqual(
          parsedArguments(command, flatArgs),
        );
      }),
      60,
    );
  });

  const valueFlags = command.flags.filter(({ value }) => value !== undefined && !value.startsWith('['));
  it.each(valueFlags)('rejects --$name without $value or with another flag as value', async ({ name, value = '' }) => {
    const operands = command.operands.map(({ words }) => words?.[0] ?? 'some');
    for (const flagText of [
      ...command.flags.map((flag) => `--${flag.name}`),
      '--json',
      '--dry-run',
      '--yes',
      '--database-url',
    ]) {
      await expect(run(command.name, [...operands, `--${name}`, flagText])).rejects.toMatchObject({
        code: 'USAGE',
        exitCode: 2,
        message: expect.stringContaining(
          `--${name}: expected ${value.split(' ')[0] ?? ''} after it, found "${flagText}"`,
        ) as string,
        remedy: expect.stringContaining(`ledger-indexer ${command.name} --help`) as string,
      });
    }
    for (const emptyOption of [[`--${name}`], [`--${name}=`]]) {
      const message = expect.stringContaining(
        `--${name}: expected ${value.split(' ')[0] ?? ''} after it, found nothing`,
      ) as string;
      await expect(run(command.name, [...operands, ...emptyOption])).rejects.toMatchObject({ exitCode: 2, message });
    }
  });

  const singleFlags = command.flags.filter(({ list }) => list !== true);
  it.each(singleFlags)('rejects a repeated --$name', ({ name, value }) => {
    const operands = command.operands.map(({ words }) => words?.[0] ?? 'some');
    const group = [`--${name}`, ...(value === undefined || value.startsWith('[') ? [] : value.split(' '))];
    const parseTwice = (): unknown => parse(command, [...operands, ...group, ...group]);
    expect(parseTwice).toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringContaining(`--${name}: given twice`) as string }),
    );
  });

  it('rejects unknown arguments', async () => {
    const operands = command.operands.map(({ words }) => words?.[0] ?? 'some');
    await expect(run(command.name, [...operands, '--nonsense'])).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('--nonsense: no such flag') as string,
    });
    await expect(run(command.name, [...operands, '-x'])).rejects.toMatchObject({ exitCode: 2 });
    if (command.operands.at(-1)?.repeated === true) return;
    const excessOperandRun = run(command.name, [...command.operands.map(({ words }) => words?.[0] ?? 'some'), 'extra']);
    await expect(excessOperandRun).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('"extra"') as string,
    });
  });
});

describe('command line parser', () => {
  it.each([
    ['redact', ['contract', '00ab', '--reason', '--json'], '--reason: expected TEXT after it, found "--json"'],
    ['grant-reader', ['r', '--party', '--dry-run'], '--party: expected PARTY after it, found "--dry-run"'],
    ['reset', ['--to', '300', '--to', '5'], '--to: given twice'],
    ['prune', ['--before', '300', '--database-url', 'a', '--database-url', 'b'], '--database-url: given twice'],
    ['verify', ['--range', '1', '--json'], '--range: expected LAST after it, found "--json"'],
    [
      'redact',
      ['contrct', '00ab', '--reason', 'x'],
      '"contrct": expected one of contract, exercise, party; did you mean contract?',
    ],
  ])('rejects %s %j', async (name, argv, message) => {
    await expect(run(name, argv)).rejects.toMatchObject({ code: 'USAGE', exitCode: 2, message: `${name}: ${message}` });
  });

  it.each([
    ['grant-reader', ['--database-url', 'postgres://nobody@127.0.0.1:1/none', 'role']],
    ['views', ['--json', 'list']],
    ['redact', ['--yes', 'contract', '00ab', '--reason', 'asked for']],
    ['quarantine', ['--json', 'list']],
    ['redact', ['contract', '00ab', '--reason=--json']],
    ['query', ['-- the newest\nselect 1']],
    ['query', ['--json', 'select 1']],
  ])('accepts %s %j and connects to the database', async (name, argv) => {
    const code = expect.stringMatching(/^(STORE_UNREACHABLE|INTERRUPTED)$/) as string;
    await expect(run(name, argv)).rejects.toMatchObject({ code });
  });

  it('accepts sandbox --port', () => {
    expect(parse(commandNamed('sandbox'), ['--port', '7001', '--seed', '5']).text('port')).toBe('7001');
  });

  it('reports a mistyped flag without its value, because the value may be a secret', async () => {
    const refusedMigrate = run('migrate', ['--database-ulr', 'postgres://me:hunter2@db/ledger']);
    const message = 'migrate: --database-ulr: no such flag; did you mean --database-url?';
    await expect(refusedMigrate).rejects.toMatchObject({ exitCode: 2, message });
  });

  it('reports all problems at once', async () => {
    const message =
      'redact:\n  --reason: expected TEXT after it, found "--yes"\n  --paint: no such flag\n  expected ID, found nothing';
    await expect(run('redact', ['contract', '--reason', '--yes', '--paint'])).rejects.toMatchObject({ message });
  });
});

describe('flags of ledger subcommands', () => {
  const verbs = [nodeVerbs, packageVerbs, partyVerbs, contractVerbs, updateVerbs, completionVerbs, submitVerbs].flat();
  const flagNames = verbs.flatMap((verb) =>
    verb.flags.flatMap(({ name: flag, value }) =>
      value === undefined ? [] : [{ verb, name: verb.name, flag, value }],
    ),
  );

  it.each(flagNames)('reject another flag as $value: $name --$flag', ({ verb, flag }) => {
    const parseVerb = (): unknown => verbArguments(verb, [`--${flag}`, '--json']);
    expect(parseVerb).toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringContaining(`--${flag}`) as string }),
    );
  });
});

describe('configuration flags', () => {
  const publicOptions = optionList.filter(({ type, secret }) => type !== 'boolean' && secret !== 'value');

  it.each(publicOptions.map(({ name }) => name))('reject another flag as value: --%s', (name) => {
    const message = expect.stringContaining(`--${name}: expected a value`) as string;
    const call = (): unknown => parse(commandNamed('run'), [`--${name}`, '--log-level', 'info']);
    expect(call).toThrow(expect.objectContaining({ code: 'USAGE', message }));
  });
});
