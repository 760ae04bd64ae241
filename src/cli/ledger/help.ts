/** The texts of `ledger --help` and of `ledger <verb> --help`. */
import { commonFlags, type Verb } from './verb.ts';
import { aligned } from '../command-line/aligned.ts';
import { flagCall } from '../command-line/command.ts';

function listed(rows: readonly (readonly string[])[]): string {
  return aligned(rows, { indent: 2 }).join('\n');
}

function call({ name, operands }: Verb): string {
  return [name, ...operands].join(' ');
}

/** All verbs. */
export function ledgerHelp(verbs: readonly Verb[]): string {
  return `ledger-indexer ledger: the participant at LEDGER_URL, by hand

usage: ledger-indexer ledger <verb> [--option value …]

${listed(verbs.map((verb) => [call(verb), verb.summary]))}

On a terminal a table, else JSON: one object, or one line for each row. --json and --table choose.
Address, token and certificates are those of the indexer: "ledger-indexer config" lists them.

example
  LEDGER_URL=http://localhost:7575 ledger-indexer ledger end`;
}

/** One verb with its flags. */
export function verbHelp(verb: Verb): string {
  const flags = [...verb.flags, ...commonFlags];
  return `ledger-indexer ledger ${call(verb)}: ${verb.summary}

${listed(flags.map((flag) => [flagCall(flag), flag.doc]))}

and every option of "ledger-indexer config", as --ledger-url

example
  ledger-indexer ${verb.example}`;
}
