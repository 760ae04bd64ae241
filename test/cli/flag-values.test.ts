/** Every flag that takes a value refuses another flag in its place: "--reason --json" is a slip, not a reason. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCommandNamed, type Call } from '../../src/cli/commands.ts';
import { completionVerbs } from '../../src/cli/ledger/completions.ts';
import { contractVerbs } from '../../src/cli/ledger/contracts.ts';
import { nodeVerbs } from '../../src/cli/ledger/node.ts';
import { packageVerbs } from '../../src/cli/ledger/packages.ts';
import { partyVerbs } from '../../src/cli/ledger/parties.ts';
import { submitVerbs } from '../../src/cli/ledger/submit.ts';
import { updateVerbs } from '../../src/cli/ledger/updates.ts';
import { verbArguments } from '../../src/cli/ledger/arguments.ts';
import { commandTable } from '../../src/cli/table/command-table.ts';
import { loadConfig } from '../../src/config/config.ts';
import { optionList } from '../../src/config/option-table.ts';

/** Nothing is reached, should a command begin its work. */
const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', LEDGER_URL: 'http://127.0.0.1:1' };

function run(verb: string, argv: readonly string[]): Promise<unknown> {
  const printed = new PassThrough();
  const print = (text: string): void => {
    printed.write(text);
  };
  const call: Call = { argv, env, stop: AbortSignal.abort(), write: print, print };
  return runCommandNamed(verb, call);
}

const valued = commandTable.flatMap(({ name, words, flags }) =>
  flags.flatMap(({ name: flag, value }) =>
    value === undefined || value.startsWith('[') ? [] : [{ name, words: words?.slice(0, 1) ?? [], flag, value }],
  ),
);

describe('a flag of a command', () => {
  it('with a value is known of these commands at least', () => {
    expect(new Set(valued.map(({ name }) => name)).size).toBeGreaterThanOrEqual(7);
  });

  it.each(valued)('$name --$flag refuses a flag, and nothing, for $value', async ({ name, words, flag, value }) => {
    const [wanted = ''] = value.split(' ');
    for (const [found, ...after] of [
      ['"--json"', '--json'],
      ['"--dry-run"', '--dry-run'],
      ['"--yes"', '--yes'],
      ['nothing'],
    ]) {
      const message = `--${flag}: expected ${wanted} after it, found ${found ?? ''}`;
      await expect(run(name, [...words, 'some', `--${flag}`, ...after])).rejects.toMatchObject({
        code: 'USAGE',
        exitCode: 2,
        message: expect.stringContaining(message),
        remedy: expect.stringContaining(`ledger-indexer ${name} --help`),
      });
    }
  });

  it('with two values needs both', async () => {
    await expect(run('verify', ['--replay', '1', '--json'])).rejects.toMatchObject({
      exitCode: 2,
      message: '--replay: expected LAST after it, found "--json"',
    });
  });

  it('takes a value that begins so behind an equals sign', async () => {
    const redaction = run('redact', ['contract', '00ab', '--reason=--json']);
    await expect(redaction).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
  });
});

describe('a flag of a verb of `ledger`', () => {
  const verbs = [nodeVerbs, packageVerbs, partyVerbs, contractVerbs, updateVerbs, completionVerbs, submitVerbs].flat();
  const all = verbs.flatMap((verb) =>
    verb.flags.flatMap(({ name: flag, value }) =>
      value === undefined ? [] : [{ verb, name: verb.name, flag, value }],
    ),
  );

  it.each(all)('$name --$flag refuses a flag for $value', ({ verb, flag }) => {
    const parse = (): unknown => verbArguments(verb, [`--${flag}`, '--json']);
    expect(parse).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringContaining(`--${flag}`) }));
  });
});

describe('an option of the configuration', () => {
  const all = optionList.filter(({ type, secret }) => type !== 'boolean' && secret !== 'value');

  it.each(all.map(({ name }) => name))('--%s refuses a flag for its value', (name) => {
    const load = (): unknown => loadConfig([`--${name}`, '--log-level', 'info'], {});
    const message = expect.stringContaining(`--${name}: expected a value`) as string;
    expect(load).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID', exitCode: 78, message }));
  });
});
