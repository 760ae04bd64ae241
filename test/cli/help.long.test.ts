/** Help, version, suggestions and completion are generated from one list of all commands. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completionScript } from '../../src/cli/command-line/completion.ts';
import { commandHelp, help } from '../../src/cli/command-line/help.ts';
import { commands } from '../../src/cli/commands.ts';
import { optionList } from '../../src/config/option-table.ts';
import { version } from '../../src/version.ts';
import { program } from './program.ts';
import { needs } from '../support/skips/needs.ts';

describe('command help', () => {
  it.each(commands.map((command) => [command.name, command] as const))(
    'contains usage, flags, two examples and exit codes: %s',
    (name, command) => {
      const text = commandHelp(command);
      expect(text).toContain(`usage: ledger-indexer ${name} `);
      for (const flag of command.flags) expect(text).toMatch(new RegExp(`^ {2}--${flag.name}\\b`, 'm'));
      expect(command.examples.length).toBeGreaterThanOrEqual(2);
      for (const example of command.examples) expect(example.split(' ')[0]).toBe(name);
      expect(text).toContain('exit codes');
      for (const line of command.does) expect(line.length).toBeLessThanOrEqual(120);
    },
  );

  it('uses only existing flags in the examples', () => {
    const options = optionList.flatMap(({ name }) => [`--${name}`, `--no-${name}`]);
    for (const { name, examples, flags } of commands) {
      // The subcommands of `ledger` have flags of their own.
      if (name === 'ledger') continue;
      const helpNames = [...options, ...flags.map((flag) => `--${flag.name}`)];
      for (const argument of examples.flatMap((example) => example.split(' '))) {
        if (argument.startsWith('--')) expect(helpNames, argument).toContain(argument);
      }
    }
  });
});

describe('ledger-indexer', () => {
  it('prints help for --help, -h and help, with or without a command', async () => {
    for (const args of [['--help'], ['-h'], ['help']]) {
      expect(await program(args)).toMatchObject({ code: 0, stdout: `${help(commands)}\n` });
    }
    for (const args of [
      ['prune', '--help'],
      ['prune', '-h'],
      ['help', 'prune'],
    ]) {
      const { code, stdout } = await program(args);
      expect({ code, first: stdout.split('\n')[0] }).toMatchObject({
        code: 0,
        first: expect.stringContaining('prune'),
      });
    }
  });

  it('prints its version', async () => {
    expect(await program(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it.each([
    [['prun'], 2, 'did you mean prune?'],
    [['backfil'], 2, 'did you mean backfill?'],
    [['help', 'statu'], 2, 'did you mean status?'],
    [['prune', '--befor', '3'], 2, 'did you mean --before?'],
    [['status', '--wach'], 2, 'did you mean --watch?'],
    [['run', '--stop-att', 'end'], 2, 'did you mean --stop-at?'],
  ])('rejects %j with exit code %d and suggests a similar word', async (args, code, hint) => {
    const processResult = await program(args);
    expect(processResult.code).toBe(code);
    expect(processResult.stderr).toContain(hint);
  });

  it.each(['INDEXER_STOP', 'LEDGER_PARTYS', 'POSTGRES_SCHEMAS'])(
    'rejects the variable %s and suggests a similar name',
    async (name) => {
      const processResult = await program(['config'], { [name]: 'x' });
      expect(processResult.code).toBe(78);
      expect(processResult.stderr).toContain(`${name}: no such variable; did you mean `);
    },
  );

  it('ignores variables of other programs: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB', async () => {
    const env = {
      POSTGRES_USER: 'a',
      POSTGRES_PASSWORD: 'b',
      POSTGRES_DB: 'c',
      POSTGRES_HOST: 'd',
      POSTGRES_PORT: '1',
    };
    expect(await program(['config'], env)).toMatchObject({ code: 0 });
  });

  it('prints help without errors for every command', async () => {
    for (const { name } of commands) {
      if (name === 'ledger') continue;
      expect(await program([name, '--help']), name).toMatchObject({ code: 0, stderr: '' });
    }
  });
});

describe('completion script', () => {
  const bashSkipReason = spawnSync('bash', ['--version']).status === 0 ? undefined : 'needs bash';

  /** Completions that a real bash offers for the typed words, the last of which is incomplete. */
  async function completionsOf(args: readonly string[]): Promise<readonly string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-completion-'));
    try {
      const file = join(folder, 'completion.bash');
      await writeFile(file, completionScript('bash', commands));
      const quotedCommand = ['ledger-indexer', ...args].map((word) => `'${word}'`).join(' ');
      const script = `set -u; source '${file}'; COMP_WORDS=(${quotedCommand}); COMP_CWORD=${String(args.length)}; _ledger_indexer; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      return stdout.trim().split('\n');
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  it('completes commands, operands, flags and values in bash', needs(bashSkipReason), async () => {
    expect(await completionsOf([''])).toEqual(commands.map(({ name }) => name));
    expect(await completionsOf(['pr'])).toEqual(['prune', 'projection']);
    expect(await completionsOf(['views', ''])).toEqual(['list', 'rebuild']);
    const { stdout: verbs } = await program(['ledger', '--help']);
    expect(await completionsOf(['ledger', ''])).toEqual(
      [...verbs.matchAll(/^ {2}([a-z-]+)(?: \S+)? {2,}\S/gm)].map(([, verb]) => verb),
    );
    expect(await completionsOf(['prune', '--be'])).toEqual(['--before']);
    expect(await completionsOf(['run', '--stop-a'])).toEqual(['--stop-at']);
    expect(await completionsOf(['run', '--log-format', ''])).toEqual(['auto', 'pretty', 'json']);
    expect(await completionsOf(['--ledger-u'])).toEqual(['--ledger-url']);
  });

  it('offers no flag for a secret', () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      expect(completionScript(shell, commands)).not.toMatch(/ledger-token(?!-)/);
  });

  it.each(['bash', 'zsh', 'fish'])('passes the syntax check of %s, if that shell is installed', (shell) => {
    const script = completionScript(shell, commands);
    for (const { name } of commands) expect(script).toContain(name);
    const checked = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
    if (checked.error !== undefined) process.stdout.write(`completion for ${shell} only compared: no ${shell} here\n`);
    else expect({ status: checked.status, stderr: checked.stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('is rejected with exit code 2 for other shells', async () => {
    expect(await program(['completion', 'tcsh'])).toMatchObject({ code: 2 });
  });
});
