/** `explain`: explains an update, a contract or a command, as a tree for people or as JSON for programs. */
import { loadConfig, type Config } from '../../config/config.ts';
import type { ExplainableKind, Explained, ExplainedUpdate, ExplainRequest, Rows } from '../../store/reads/explain.ts';
import { json, type Command, type Terminal } from '../command-line/command.ts';
import { createOutput, type Output } from '../command-line/output.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { explainedLines } from './explained-lines.ts';

const kinds: readonly ExplainableKind[] = ['update', 'contract', 'command'];

const usage = 'ID|OFFSET [--as update|contract|command] [--max-events N] [--json]';

export const explainCommand: Command = {
  name: 'explain',
  usage,
  summary: 'explain what happened in an update, to a contract or to a command',
  does: [
    'Takes the id of an update, a contract or a command, or the offset of an update, and detects its kind. For an update, it',
    'prints the tree of events, contract changes, token transfers, cost, both clocks and the trace; for a contract, its',
    'history; for a command, its outcome.',
  ],
  operands: [{ name: 'ID' }],
  flags: [
    { name: 'as', value: 'KIND', doc: 'update, contract or command, if an id is ambiguous' },
    { name: 'max-events', value: 'N', doc: 'maximum number of events, default 1000; omitted events are counted' },
    json,
  ],
  examples: ['explain 120000', 'explain 1220ab… --json', 'explain 00c1…', 'explain pay-invoice-17 --as command'],
  exits: [
    [2, 'the id is not stored here, or is ambiguous'],
    [69, 'the database cannot be reached'],
    [77, 'the role may not read the tables'],
  ],
  page: 'docs/how-to/query/explain-updates.md',
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, QUERY_REFUSED, SCHEMA_OUTDATED and STORE_ errors */
  run: async ({ args, env, stdout }) => {
    const request = requestOf(args);
    const config = loadConfig(env, args.options);
    const { readExplained: explainId } = await import('../../store/reads/explain.ts');
    const explained = await withDatabase(config, { command: 'explain', feature: 'explain' }, (database) =>
      explainId(database, request),
    );
    const output = createOutput(stdout, true);
    if (args.has('json')) return printJson(explained, output);
    for (const chunk of explainedLines(explained, displayOptions(stdout, env, config))) await output.piece(chunk);
  },
};

function requestOf(args: Args): ExplainRequest {
  const requestedKind = args.text('as');
  const kind = kinds.find((candidate) => candidate === requestedKind);
  if (requestedKind !== undefined && kind === undefined)
    throw commandUsageError(`--as "${requestedKind.slice(0, 80)}" is not update, contract or command`);
  const events = args.text('max-events') ?? '1000';
  if (!/^[1-9]\d{0,6}$/.test(events))
    throw commandUsageError(`--max-events "${events.slice(0, 80)}" is not a number from 1 to 9999999`);
  const [id = ''] = args.operands;
  if (id.includes('\0')) throw commandUsageError('an id cannot contain NUL');
  return { id, as: kind ?? null, most: Number(events) };
}

function commandUsageError(message: string) {
  return usageError(message, `ledger-indexer explain ${usage}`);
}

function displayOptions(
  { isTTY = false, columns = 0 }: Terminal,
  env: NodeJS.ProcessEnv,
  { indexer: { traceUrlTemplate } }: Config,
) {
  return {
    width: isTTY && columns > 0 ? columns : 80,
    coloured: isTTY && env['NO_COLOR'] === undefined,
    traceUrlTemplate,
  };
}

/**
 * Prints one object in pieces. The rows are printed as Postgres returns them, without parsing, so that no digit is
 * lost.
 */
async function printJson(explained: Explained, output: Output): Promise<void> {
  for (const chunk of objectOf(explained)) await output.piece(chunk);
  await output.text('');
}

function* objectOf(explained: Explained): Generator<string> {
  yield `{"kind":"${explained.kind}",`;
  if (explained.kind === 'update') yield* updateOf(explained);
  else if (explained.kind === 'contract') yield* jsonList('history', explained.history);
  else {
    yield* jsonList('outcomes', explained.outcomes);
    yield ',"update":';
    if (explained.update === null) yield 'null';
    else {
      yield '{';
      yield* updateOf(explained.update);
      yield '}';
    }
  }
  yield `,"labels":${JSON.stringify(Object.fromEntries(explained.labels))}}`;
}

function* updateOf({ summary, events, transfers, changes }: ExplainedUpdate): Generator<string> {
  yield `"summary":${summary},`;
  yield* jsonList('events', events);
  yield ',';
  yield* jsonList('token_transfers', transfers);
  yield ',';
  yield* jsonList('token_changes', changes);
}

function* jsonList(name: string, { rows, omitted }: Rows): Generator<string> {
  yield `"${name}":[`;
  for (const [index, row] of rows.entries()) yield index === 0 ? row : `,${row}`;
  yield `],"${name}_omitted":${String(omitted)}`;
}
