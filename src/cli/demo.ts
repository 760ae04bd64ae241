/** `demo`: everything embedded, whatever URLs the environment names. */
import { longDemoFlags } from './demo-flags.ts';
import { runCommand } from './run.ts';

/** Where the outside world is and what opens it. */
const outside =
  /^(?:LEDGER_URL|LEDGER_TOKEN(?:_FILE)?|LEDGER_OAUTH_\w+|LEDGER_(?:CA|CERT|KEY)_FILE|DATABASE_URL(?:_FILE)?)$/;

export function demoCommand(argv: readonly string[], env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<void> {
  const bare = Object.fromEntries(Object.entries(env).filter(([name]) => !outside.test(name)));
  // --stop-at stays the indexer's own here.
  return runCommand(longDemoFlags(argv, ['speed', 'chaos', 'seed']), bare, stop);
}
