/** `sandbox`: only the sandbox ledger, for developing against it. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { demoLedger } from '../../optional-parts.ts';
import { optionWords } from '../command-line/demo-flags.ts';
import { parse, type Given } from '../command-line/parse.ts';
import { commandNamed } from '../table/command-table.ts';

const defaultPort = 7575;

/**
 * Serves until `stop` is aborted. Its port is 7575, as a participant's, unless it is given another one.
 * @throws IndexerError SANDBOX_PORT_INVALID (exit 78)
 */
export async function sandboxCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const given = parse(commandNamed('sandbox'), argv);
  const { indexer } = loadConfig(optionWords(given), env);
  const { port, host, journal, admin } = placeOf(given, env);
  const { demoSeed: seed, demoUpdatesPerSecond, demoSpeed, demoStopAt, demoChaos } = indexer;
  const { startDemoLedger } = await demoLedger();
  const ledger = await startDemoLedger({
    seed,
    updatesPerSecond: demoUpdatesPerSecond * demoSpeed,
    port,
    admin,
    ...(host === undefined ? {} : { host }),
    ...(journal === undefined ? {} : { journal }),
    ...(demoStopAt === undefined ? {} : { stopAt: demoStopAt }),
    // Nobody's database is at hand to be slowed down.
    ...(demoChaos ? { chaos: { report: (trouble: string) => write(`chaos: ${trouble}`) } } : {}),
  });
  const kept = journal === undefined ? 'state in memory, gone when it stops' : `its history is in ${journal}`;
  write(`sandbox ledger at ${ledger.url} (${kept})`);
  if (admin) write(`faults: curl ${ledger.url}/sandbox/faults -d '{"stall":{"afterFrames":0}}'`);
  if (!stop.aborted) {
    await new Promise<void>((resolve) => {
      stop.addEventListener('abort', () => {
        resolve();
      });
    });
  }
  await ledger.close();
}

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
