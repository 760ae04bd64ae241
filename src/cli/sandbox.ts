/** `sandbox`: only the sandbox ledger, for developing against it. */
import { loadConfig } from '../config/config.ts';
import { ExitCode, IndexerError } from '../errors.ts';
import { startDemoLedger } from '../sandbox/demo-ledger.ts';
import { longDemoFlags } from './demo-flags.ts';

const defaultPort = 7575;

/**
 * Serves until `stop` is aborted. Its port is 7575, as a participant's, or SANDBOX_PORT; SANDBOX_ADMIN=1 lets a shell
 * script faults. SANDBOX_HOST is the address it listens on, for containers; with SANDBOX_JOURNAL, a file, its history
 * outlives it.
 * @throws IndexerError SANDBOX_PORT_INVALID (exit 78)
 */
export async function sandboxCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const { indexer } = loadConfig(longDemoFlags(argv, ['speed', 'chaos', 'seed', 'stop-at']), env);
  const port = portOf(env['SANDBOX_PORT']);
  const admin = env['SANDBOX_ADMIN'] === '1';
  const { demoSeed: seed, demoUpdatesPerSecond, demoSpeed, demoStopAt, demoChaos } = indexer;
  const [host, journal] = [env['SANDBOX_HOST'], env['SANDBOX_JOURNAL']];
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

function portOf(text: string | undefined): number {
  if (text === undefined || text === '') return defaultPort;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new IndexerError(`SANDBOX_PORT is not a port: ${text}`, {
    code: 'SANDBOX_PORT_INVALID',
    retry: 'fatal',
    exitCode: ExitCode.configuration,
    remedy: 'set SANDBOX_PORT to a number up to 65535, or to 0 for any free port',
  });
}
