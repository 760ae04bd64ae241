/** `demo`: everything embedded, whatever URLs the environment names. */
import { optionWords } from '../command-line/demo-flags.ts';
import { parse } from '../command-line/parse.ts';
import { runCommand } from './run.ts';
import { commandNamed } from '../table/command-table.ts';

/** Where the outside world is and what opens it. */
const outside =
  /^(?:LEDGER_URL|LEDGER_TOKEN(?:_FILE)?|LEDGER_OAUTH_\w+|LEDGER_(?:CA|CERT|KEY)_FILE|DATABASE_URL(?:_FILE)?)$/;

export function demoCommand(argv: readonly string[], env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<void> {
  const bare = Object.fromEntries(Object.entries(env).filter(([name]) => !outside.test(name)));
  return runCommand(optionWords(parse(commandNamed('demo'), argv)), bare, stop);
}
