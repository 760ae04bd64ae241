/** `sandbox`: runs only the sandbox ledger, for development. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { demoLedger } from './optional-parts.ts';
import type { Command } from '../command-line/command.ts';
import { demoFlags, optionsOf, maxUpdatesFlag } from '../command-line/demo-flags.ts';
import type { Args } from '../command-line/parse.ts';

const defaultPort = 7575;

export const sandboxCommand: Command = {
  name: 'sandbox',
  usage: '[--port PORT] [--host ADDRESS] [--journal FILE] [--admin] [--option value …]',
  summary: 'run only the sandbox ledger, on port 7575 or another port',
  does: [
    'A ledger for development: it serves the JSON Ledger API v2, keeps its data in memory and creates traffic.',
    'The first four flags are also variables: SANDBOX_PORT, SANDBOX_HOST, SANDBOX_JOURNAL, SANDBOX_ADMIN=1.',
  ],
  operands: [],
  flags: [
    { name: 'port', value: 'PORT', doc: 'port to listen on; default 7575; 0 for any free port' },
    { name: 'host', value: 'ADDRESS', doc: 'address to listen on; default this machine only' },
    { name: 'journal', value: 'FILE', doc: 'store the history in FILE, and continue with it at the next start' },
    { name: 'admin', doc: 'let HTTP requests inject faults' },
    ...demoFlags,
    maxUpdatesFlag,
  ],
  examples: ['sandbox', 'sandbox --port 0 --demo-updates-per-second 0'],
  alone: true,
  /**
   * Serves until `stop` is aborted. The default port is 7575, like that of a participant.
   * @throws IndexerError SANDBOX_PORT_INVALID (exit 78)
   */
  run: async ({ args, env, stop, print }) => {
    const { indexer } = loadConfig(env, optionsOf(args));
    const { port, host, journal, admin } = sandboxOptions(args, env);
    const { demoSeed: seed, demoUpdatesPerSecond, demoSpeed, demoMaxUpdates, demoChaos } = indexer;
    const { startDemoLedger } = await demoLedger();
    const ledger = await startDemoLedger({
      seed,
      updatesPerSecond: demoUpdatesPerSecond * demoSpeed,
      port,
      admin,
      ...(host === undefined ? {} : { host }),
      ...(journal === undefined ? {} : { journal }),
      ...(demoMaxUpdates === undefined ? {} : { maxUpdates: demoMaxUpdates }),
      // Without a database, only a part of the chaos is possible, because there is no database that could be slowed
      // down.
      ...(demoChaos ? { chaos: { report: (fault: string) => print(`chaos: ${fault}`) } } : {}),
    });
    const journalNote = journal === undefined ? 'state in memory, lost at the stop' : `its history is in ${journal}`;
    print(`sandbox ledger at ${ledger.url} (${journalNote})`);
    if (admin) print(`faults: curl ${ledger.url}/sandbox/faults -d '{"stall":{"afterFrames":0}}'`);
    if (!stop.aborted) {
      await new Promise<void>((resolve) => {
        stop.addEventListener('abort', () => {
          resolve();
        });
      });
    }
    await ledger.close();
  },
};

interface SandboxAddress {
  readonly port: number;
  readonly host: string | undefined;
  readonly journal: string | undefined;
  readonly admin: boolean;
}

/** A flag takes precedence over the environment variable with the same meaning. */
function sandboxOptions(args: Args, env: NodeJS.ProcessEnv): SandboxAddress {
  return {
    port: portOf(args.text('port') ?? env['SANDBOX_PORT'], args.has('port') ? '--port' : 'SANDBOX_PORT'),
    host: args.text('host') ?? env['SANDBOX_HOST'],
    journal: args.text('journal') ?? env['SANDBOX_JOURNAL'],
    admin: args.has('admin') || env['SANDBOX_ADMIN'] === '1',
  };
}

function portOf(text: string | undefined, name: string): number {
  if (text === undefined || text === '') return defaultPort;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new IndexerError(`${name} is not a port: ${text}`, {
    code: 'SANDBOX_PORT_INVALID',
    remedy: `set ${name} to a number up to 65535, or to 0 for any free port`,
  });
}
