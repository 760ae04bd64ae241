/** The command line of the sandbox: the table of flags and variables, and the program as a process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { help, settingsOf, UsageError } from '../../src/command-line.ts';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('command-line settings', () => {
  it('are the defaults if unset or empty', () => {
    const defaultSettings = settingsOf([], {});
    expect(defaultSettings).toMatchObject({
      port: 7575,
      host: undefined,
      admin: false,
      seed: 1,
      'updates-per-second': 5,
      speed: 1,
    });
    expect(settingsOf([], { SANDBOX_PORT: '', INDEXER_DEMO_CHAOS: '' })).toEqual(defaultSettings);
  });

  it('are read from variables, and flags take precedence', () => {
    const env = { SANDBOX_PORT: '1', SANDBOX_ADMIN: '1', INDEXER_DEMO_SEED: '7', INDEXER_DEMO_MAX_UPDATES: '9' };
    expect(settingsOf(['--port', '0', '--host=::1', '--chaos'], env)).toMatchObject({
      port: 0,
      host: '::1',
      admin: true,
      seed: 7,
      'max-updates': 9,
      chaos: true,
    });
  });

  it('are reported in one error if they are invalid, each with the name of its flag or variable', () => {
    const parseInvalid = (): unknown => settingsOf(['--port', '65536', '--speed', '1.5'], { INDEXER_DEMO_SEED: '-1' });
    expect(parseInvalid).toThrow(UsageError);
    expect(parseInvalid).toThrow(/--port: .+65535\nINDEXER_DEMO_SEED: .+\n--speed: /);
  });

  it.each([['--prot', '1'], ['word'], ['--port']])('are rejected for the arguments %s', (...argv) => {
    expect(() => settingsOf(argv, {})).toThrow(UsageError);
  });

  it('are all listed in the help, together with their variables', () => {
    const flags = [...help().matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name = '']) => name);
    expect(flags.toSorted()).toEqual(Object.keys(settingsOf([], {})).toSorted());
    expect(help().match(/\((?:SANDBOX|INDEXER_DEMO)_[A-Z_]+\)/g)).toHaveLength(flags.length);
  });
});

describe('the sandbox program', () => {
  it('serves until it receives a signal, then exits with 0', async () => {
    const child = spawn(process.execPath, [main, '--port', '0', '--updates-per-second', '0', '--max-updates', '10']);
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const url = /http:\S+/.exec(line)?.[0] ?? '';
    expect((await fetch(`${url}/v2/version`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('exits with 2 for invalid arguments, and prints the valid ones', async () => {
    const child = spawn(process.execPath, [main, '--port', 'x']);
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(output).toContain('--port: expected');
    expect(output).toContain('usage: ledger-sandbox');
  });

  it('exits with 1 and a remedy if it cannot listen', async () => {
    const child = spawn(process.execPath, [main, '--host', '192.0.2.1', '--max-updates', '10']);
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(output).toMatch(/cannot listen on 192\.0\.2\.1:7575[^]*what to do: /);
  });
});
