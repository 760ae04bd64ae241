/** `demo-info`: prints the URLs, the password and the sample queries of this folder's demo. */
import { join, resolve } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { runningServerUrl } from './optional-parts.ts';
import { json, type Command } from '../command-line/command.ts';
import { runningDemo, type DemoNote } from './running-demo.ts';

export const demoInfoCommand: Command = {
  name: 'demo-info',
  summary: 'print URLs, database password and sample queries of the running demo',
  does: [
    'Prints again what `npm start` printed when it had caught up with its ledger. It finds the demo by its data folder,',
    'INDEXER_DATA_DIR, and ignores DATABASE_URL.',
  ],
  operands: [],
  flags: [json],
  examples: ['demo-info', 'demo-info --json | jq -r .database'],
  exits: [
    [69, 'no demo runs with this data folder'],
    [75, 'the demo has not caught up with its ledger yet'],
    [78, 'the package of the embedded Postgres is not installed with this command'],
  ],
  alone: true,
  /**
   * Prints text, or one JSON object with `--json`. Both contain the password of the embedded database.
   * @throws IndexerError DEMO_NOT_FOUND (exit 69) if no demo is running, DEMO_NOT_READY (exit 75) if it has not caught
   * up, DEMO_PART_MISSING (exit 78) if a demo is running but this installation lacks the package that finds its
   * database
   */
  run: async ({ args, env, print }) => {
    const { dataDir } = loadConfig(env, args.options).indexer;
    const note = await runningDemo(dataDir);
    if (note === undefined) throw demoNotFoundError(dataDir);
    if (!note.live) throw notLiveError(note);
    const { httpUrl, ledgerUrl, schema, embeddedLedger, embeddedDatabase } = note;
    const runningUrl = embeddedDatabase ? await runningServerUrl(join(dataDir, 'postgres'), true) : undefined;
    if (embeddedDatabase && runningUrl === undefined) throw demoNotFoundError(dataDir);
    const demoAddresses = { ledgerUrl, embeddedLedger, embeddedDatabase, databaseUrl: runningUrl ?? note.database };
    const { formatBanner, queries } = await import('./banner.ts');
    if (args.has('json')) {
      const [page, database] = [`${httpUrl}/`, demoAddresses.databaseUrl];
      return print(JSON.stringify({ page, ledger: ledgerUrl, database, queries: queries(schema, embeddedLedger) }));
    }
    return print(formatBanner(demoAddresses, httpUrl, schema).trimEnd());
  },
};

function demoNotFoundError(dataDir: string): IndexerError {
  return new IndexerError(`no demo runs with the data in ${resolve(dataDir)}`, {
    code: 'DEMO_NOT_FOUND',
    remedy:
      'start it with `ledger-indexer demo` (in a clone: `npm start`), or run demo-info in its folder or with its INDEXER_DATA_DIR',
  });
}

function notLiveError({ httpUrl, pid }: DemoNote): IndexerError {
  return new IndexerError(`the demo of this folder (process ${String(pid)}) has not caught up with its ledger yet`, {
    code: 'DEMO_NOT_READY',
    remedy: `run demo-info again in a moment; ${httpUrl}/ displays the progress`,
  });
}
