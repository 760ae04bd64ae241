/** `sandbox`: only the sandbox ledger, for developing against it. */
import { loadConfig } from '../config/config.ts';
import { startDemoLedger } from '../sandbox/demo-ledger.ts';

const defaultPort = 7575;

/** Serves until `stop` is aborted. Its port is 7575, as a participant's, or SANDBOX_PORT; SANDBOX_ADMIN=1 lets a shell script faults. */
export async function sandboxCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const { indexer } = loadConfig(argv, env);
  const port = Number(env['SANDBOX_PORT'] ?? defaultPort);
  const admin = env['SANDBOX_ADMIN'] === '1';
  const { demoSeed: seed, demoUpdatesPerSecond: updatesPerSecond } = indexer;
  const ledger = await startDemoLedger({ seed, updatesPerSecond, port, admin });
  write(`sandbox ledger at ${ledger.url} (state in memory, gone when it stops)`);
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
