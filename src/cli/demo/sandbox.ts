/** `sandbox`: only the sandbox ledger, for developing against it. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { demoLedger } from './optional-parts.ts';
import type { Command } from '../command-line/command.ts';
import { demoFlags, optionsOf, maxUpdatesFlag } from '../command-line/demo-flags.ts';
import type { Given } from '../command-line/parse.ts';

const defaultPort = 7575;

export const sandboxCommand: Command = {
  name: 'sandbox',
  usage: '[--port PORT] [--host ADDRESS] [--journal FILE] [--admin] [--option value …]',
  summary: 'only the sandbox ledger, on port 7575 or another one',
  does: [
    'A ledger to develop against: speaks the JSON Ledger API v2, keeps everything in memory, makes traffic.',
    'Each of its first four flags is a variable too: SANDBOX_PORT, SANDBOX_HOST, SANDBOX_JOURNAL, SANDBOX_ADMIN=1.',
  ],
  operands: [],
  flags: [
    { name: 'port', value: 'PORT', doc: 'default 7575; 0 for any free one' },
    { name: 'host', value: 'ADDRESS', doc: 'where it listens; default this machine only' },
    { name: 'journal', value: 'FILE', doc: 'keep the history there, and go on with it the next time' },
    { name: 'admin', doc: 'let a shell script faults' },
    ...demoFlags,
    maxUpdatesFlag,
  ],
  examples: ['sandbox', 'sandbox --port 0 --demo-updates-per-second 0'],
  alone: true,
  /**
   * Serves until `stop` is aborted. Its port is 7575, as a participant's, unless it is given another one.
   * @throws IndexerError SANDBOX_PORT_INVALID (exit 78)
   */
  run: async ({ given, env, stop, print }) => {
    const { indexer } = loadConfig(env, optionsOf(given));
    const { port, host, journal, admin } = placeOf(given, env);
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
      // Nobody's database is at hand to be slowed down.
      ...(demoChaos ? { chaos: { report: (trouble: string) => print(`chaos: ${trouble}`) } } : {}),
    });
    const kept = journal === undefined ? 'state in memory, gone when it stops' : `its history is in ${journal}`;
    print(`sandbox ledger at ${ledger.url} (${kept})`);
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

interface Place {
  readonly port: number;
  readonly host: string | undefined;
  readonly journal: string | undefined;
  readonly admin: boolean;
}

/** A flag is stronger than the variable of the same meaning. */
function placeOf(given: Given, env: NodeJS.ProcessEnv): Place {
  return {
    port: portOf(given.text('port') ?? env['SANDBOX_PORT'], given.has('port') ? '--port' : 'SANDBOX_PORT'),
    host: given.text('host') ?? env['SANDBOX_HOST'],
    journal: given.text('journal') ?? env['SANDBOX_JOURNAL'],
    admin: given.has('admin') || env['SANDBOX_ADMIN'] === '1',
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
