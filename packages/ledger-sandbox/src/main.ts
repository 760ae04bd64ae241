#!/usr/bin/env node
/**
 * `ledger-sandbox`: serves the demo's ledger until it receives a signal. Exit code 2: invalid arguments. Exit code 1:
 * it cannot start.
 */
import { help, settingsOf, UsageError } from './command-line.ts';
import { startDemoLedger } from './demo/demo-ledger.ts';
import { SandboxError } from './wire/sandbox-error.ts';

const argv = process.argv.slice(2);

/** All updates of a longer history stay readable. */
const longKeeps = { offsets: 10_000_000, tail: 10_000 };

async function serve(): Promise<void> {
  const { port, host, journal, admin, seed, speed, chaos, ...otherSettings } = settingsOf(argv, process.env);
  const maxUpdates = otherSettings['max-updates'];
  const { now: startAt, 'history-from': from, 'history-updates': updates } = otherSettings;
  const ahead = startAt === undefined ? 0 : startAt - Date.now();
  const ledger = await startDemoLedger({
    seed,
    ...(startAt === undefined ? {} : { startAt, now: () => Date.now() + ahead }),
    ...(from === undefined ? {} : { history: updates === undefined ? { from } : { from, updates }, keeps: longKeeps }),
    updatesPerSecond: otherSettings['updates-per-second'] * speed,
    port,
    admin,
    ...(host === undefined ? {} : { host }),
    ...(journal === undefined ? {} : { journal }),
    ...(maxUpdates === undefined ? {} : { maxUpdates }),
    ...(chaos ? { chaos: { report: (fault) => process.stdout.write(`chaos: ${fault}\n`) } } : {}),
  });
  process.stdout.write(`sandbox ledger at ${ledger.url}\n`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void ledger.close());
}

if (argv.includes('--help')) {
  process.stdout.write(help());
} else {
  try {
    await serve();
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof SandboxError)) throw error;
    const remedy = error instanceof SandboxError ? `\n  what to do: ${error.remedy}` : '\n\n' + help();
    process.stderr.write(`ledger-sandbox: ${error.message}${remedy}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
