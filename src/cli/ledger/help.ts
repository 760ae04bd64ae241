/** The help texts of `ledger --help` and `ledger <verb> --help`. */
import { commonFlags, type Verb } from './verb.ts';
import { aligned } from '../command-line/aligned.ts';
import { flagCall } from '../command-line/command.ts';

function formatList(rows: readonly (readonly string[])[]): string {
  return aligned(rows, { indent: 2 }).join('\n');
}

function call({ name, operands }: Verb): string {
  return [name, ...operands].join(' ');
}

/** The help of all verbs. */
export function ledgerHelp(verbs: readonly Verb[]): string {
  return `ledger-indexer ledger: request data from the participant at LEDGER_URL

usage: ledger-indexer ledger <verb> [--option value …]

${formatList(verbs.map((verb) => [call(verb), verb.summary]))}

On a terminal the output is a table, otherwise JSON: one object, or one line per row. --json and --table choose the format.
Address, token and certificates come from the configuration of the indexer: "ledger-indexer config" lists them.

example
  LEDGER_URL=http://localhost:7575 ledger-indexer ledger end`;
}

/** The help of one verb. */
export function verbHelp(verb: Verb): string {
  const flags = [...verb.flags, ...commonFlags];
  return `ledger-indexer ledger ${call(verb)}: ${verb.summary}

${formatList(flags.map((flag) => [flagCall(flag), flag.doc]))}

and all options of "ledger-indexer config", such as --ledger-url

example
  ledger-indexer ${verb.example}`;
}
