/** Functions of both programs: arguments, failures at the start, and the log. */
import { failureOf } from '../indexer/mcp-error.ts';

/** Prints a failure of the configuration to stderr. Standard output belongs to the protocol. */
export function failStart(thrown: unknown): never {
  const { code, message, remedy } = failureOf(thrown);
  process.stderr.write(`ledger-indexer-mcp: ${code}: ${message}\n  what to do: ${remedy}\n`);
  process.exit(78);
}

/** Refuses arguments: other users of the machine can read them, so they must not have a token. */
export function refuseArguments(argv: readonly string[]): void {
  if (argv.length === 0) return;
  // Arguments are not printed, because one may be a token.
  process.stderr.write(
    'ledger-indexer-mcp: there are no arguments; options are variables, see docs/how-to/integrate/agents.md\n',
  );
  process.exit(2);
}

/** Logs the kind of a failure of a request. Messages may contain contents of requests. */
export function logFailure({ name }: Error): void {
  process.stderr.write(`ledger-indexer-mcp: a request failed (${name})\n`);
}
