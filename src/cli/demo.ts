/** `demo`: everything embedded, whatever URLs the environment names. */
import { runCommand } from './run.ts';

/** Where the outside world is and what opens it. */
const outside =
  /^(?:LEDGER_URL|LEDGER_TOKEN(?:_FILE)?|LEDGER_OAUTH_\w+|LEDGER_(?:CA|CERT|KEY)_FILE|DATABASE_URL(?:_FILE)?)$/;

/** Options of the sandbox that this verb knows by a short name too: `--speed 10` is `--demo-speed 10`. */
const short = /^--(no-)?(speed|chaos|seed)(?==|$)/;

export function demoCommand(argv: readonly string[], env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<void> {
  const bare = Object.fromEntries(Object.entries(env).filter(([name]) => !outside.test(name)));
  const flags = argv.map((word) =>
    word.replace(short, (_, no: string | undefined, name: string) => `--${no ?? ''}demo-${name}`),
  );
  return runCommand(flags, bare, stop);
}
