/** A test run that is stopped ends its Postgres and deletes its files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { needs, linuxSkipReason } from '../support/skips/needs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Ids of the processes whose command line contains the folder. */
function processesOf(folder: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}

const endNames = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL', 'a closed pipe'] as const;

it.each(endNames)(
  'a test run that ends by %s leaves no process and no folder',
  { timeout: 120_000, ...needs(linuxSkipReason) },
  async (end) => {
    const folder = mkdtempSync(join(tmpdir(), 'ended-suite-'));
    const { TEST_DATABASE_URL: _given, TEST_POSTGRES_URL: _inherited, ...env } = process.env;
    const run = spawn(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', 'test/store/writer-lock.slow.test.ts'],
      {
        cwd: root,
        env: { ...env, TMPDIR: folder, TEST_POSTGRES: 'embedded' },
      },
    );
    let output = '';
    run.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    let complaints = '';
    run.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
    try {
      await waitFor('a server', () => (output.includes('tests use') ? true : undefined), 60_000);
      expect(processesOf(folder).length).toBeGreaterThan(0);
      const ended = once(run, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
      if (end === 'a closed pipe') run.stdout.destroy();
      else run.kill(end);
      const [code] = await ended;
      expect(code).not.toBe(0);
      if (end === 'a closed pipe') expect(complaints).toBe('');
      await waitFor('nothing runs', () => (processesOf(folder).length === 0 ? true : undefined));
      await waitFor('nothing is left', () =>
        readdirSync(folder).every((name) => !name.startsWith('ledger-indexer')) ? true : undefined,
      );
    } finally {
      run.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
