/** `status --watch` prints one line of JSON per second without a terminal, and a screen on a terminal. */
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { statusScreen } from '../../src/cli/inspect/status-screen.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startDaemon } from '../e2e/runs/daemon.ts';
import { createTestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { terminalSkipReason, onTerminal } from '../support/terminal.ts';
import { main, program, startProgram } from './program.ts';
import { needs } from '../support/skips/needs.ts';

function states(output: string): readonly string[] {
  const lines = output.split('\n').filter((line) => line.endsWith('}'));
  return lines.map((line) => (JSON.parse(line) as { state: string }).state);
}

describe('status --watch', () => {
  it('polls the indexer, then the database after the indexer ends, and exits with 0 on SIGINT', async () => {
    await using sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    generateHistory(sandbox.ledger, { seed: 5, updates: 30 });
    await using database = await createTestDatabase();
    const daemon = startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema: 'ledger' });
    const env = { DATABASE_URL: database.url, INDEXER_HTTP_PORT: new URL(await daemon.http()).port };
    const watching = startProgram(['status', '--watch'], env);
    try {
      await waitFor('live', () => (states(watching.stdout()).includes('live') ? true : undefined));
      await daemon.kill();
      await waitFor('not_running', () => (states(watching.stdout()).includes('not_running') ? true : undefined));
      const last = watching.stdout().trim().split('\n').at(-1) ?? '';
      expect(JSON.parse(last)).toMatchObject({ checkpoint: sandbox.ledger.ledgerEnd(), seeded: true });
      watching.signal('SIGINT');
      expect(await watching.ended).toMatchObject({ code: 0 });
    } finally {
      watching.signal('SIGKILL');
      await daemon.kill();
    }
  });

  it('prints the state on a terminal with 0 columns', needs(terminalSkipReason), async () => {
    await using sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    await using database = await createTestDatabase();
    await using daemon = startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema: 'ledger' });
    const env = { DATABASE_URL: database.url, INDEXER_HTTP_PORT: new URL(await daemon.http()).port };
    const command = `stty rows 0 cols 0; exec '${process.execPath}' '${main}' status --watch`;
    const watching = onTerminal(command, env, tmpdir());
    await waitFor('the state', () => (/state +\w+/.test(watching.output()) ? true : undefined));
    watching.interrupt();
    expect(await watching.ended).toBe(0);
  });

  it('exits with 69 if no indexer responds', async () => {
    expect(await program(['status', '--watch', '--http-port', '1'])).toMatchObject({ code: 69 });
  });
});

describe('status --watch screen', () => {
  const catchingUp = {
    state: 'catching_up',
    reason: '990 offsets behind the ledger end',
    checkpoint: 1010,
    ledgerEnd: 2000,
    offsetsBehind: 990,
    lagSeconds: 12.3,
    updatesPerSecond: 55,
    eventsPerSecond: 110,
    catchUp: { from: 0, percent: 50.5, offsetsPerSecond: 10, etaSeconds: 99 },
    lastError: { code: 'LEDGER_PING_TIMEOUT', message: 'two\nlines', at: '2026-01-01T00:00:00.000Z' },
  };

  it('contains state, offsets, lag, rates, remaining time and last error in 70 columns', () => {
    const lines = statusScreen(catchingUp, 70);
    const text = lines.join('\n');
    for (const expectedText of [
      'catching_up',
      '1,010',
      '2,000',
      '990 offsets',
      '12.3 s',
      '55 updates/s',
      '50.5 %',
      '1 min 39 s left',
      'LEDGER_PING_TIMEOUT',
    ]) {
      expect(text).toContain(expectedText);
    }
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(70);
  });

  it.each([undefined, 0])('is 80 columns wide on a terminal of %s columns', (columns) => {
    const lines = statusScreen({ ...catchingUp, reason: 'x'.repeat(200) }, columns);
    expect(lines.map((line) => line.length)).toContain(80);
    expect(lines.join('\n')).toContain('990 offsets,');
  });

  it('contains a remedy and the age of the lag while the ledger does not respond', () => {
    const awayStatus = {
      ...catchingUp,
      state: 'backing_off',
      ledgerEndAgeSeconds: 158.2,
      remedy: 'start the participant',
    };
    const text = statusScreen(awayStatus, 120).join('\n');
    expect(text).toContain('990 offsets 158 s ago, unknown since then');
    expect(text).toContain('start the participant');
  });

  it('omits unknown values', () => {
    const text = statusScreen({ state: 'not_running', checkpoint: null }).join('\n');
    expect(text).not.toMatch(/null|undefined|NaN/);
  });
});
