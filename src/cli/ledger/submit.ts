/** Verb `submit`: submits commands from a JSON file. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Commands } from '../../ledger/api/commands.ts';
import { isObject, type JsonObject } from '../../ledger/frames/field.ts';
import { bytesOf } from './files.ts';
import { usageError } from '../command-line/refusals.ts';
import type { Verb, VerbCall } from './verb.ts';

async function textOf(file: string, stdin: VerbCall['stdin']): Promise<string> {
  if (file !== '-') return (await bytesOf(file)).toString('utf8');
  const parts: Buffer[] = [];
  for await (const chunk of stdin) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts).toString('utf8');
}

function commandsFileError(file: string, problem: string): IndexerError {
  return new IndexerError(`${file === '-' ? 'standard input' : file}: ${problem}`, {
    code: 'COMMANDS_INVALID',
    remedy: 'write one JsCommands object: {"commandId":"…","actAs":["…"],"commands":[{"CreateCommand":{…}}]}',
  });
}

/** Whether the text has a number, outside of strings, that JavaScript would round. */
function hasLongNumber(json: string): boolean {
  const numbers = json.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""').match(/[\d.]{16,}/g) ?? [];
  return numbers.some((digits) => digits.replaceAll(/\.|^[0.]+/g, '').length > 15);
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error of the parser is not printed: it quotes the text, which may contain a payload.
    throw commandsFileError(file, 'expected JSON, found invalid text');
  }
}

/** Checks only the fields that every submission needs. The ledger checks the rest. */
function commandsIn(file: string, text: string): Commands {
  const value = parsed(file, text);
  if (!isObject(value)) throw commandsFileError(file, 'expected a JSON object, found another value');
  const { commands, commandId, actAs }: JsonObject = value;
  if (!Array.isArray(commands) || commands.length === 0) throw commandsFileError(file, 'expected a list "commands"');
  if (typeof commandId !== 'string' || commandId === '') throw commandsFileError(file, 'expected a text "commandId"');
  if (!Array.isArray(actAs) || actAs.length === 0) throw commandsFileError(file, 'expected a list "actAs" of parties');
  if (hasLongNumber(text)) {
    throw commandsFileError(
      file,
      'expected numbers of more than 15 digits as text, "0.1234567890123456": they would be rounded',
    );
  }
  return value as unknown as Commands;
}

async function submit({ args, client, output, stdin }: VerbCall): Promise<void> {
  const [file = ''] = args.operands;
  if (args.has('async') && args.has('for-transaction')) {
    throw usageError('--for-transaction cannot be combined with --async', 'remove one of them');
  }
  const commands = commandsIn(file, await textOf(file, stdin));
  const { commandId } = commands;
  if (args.has('async')) {
    await client.commands.submit(commands);
    await output.object({ commandId }, [['taken', commandId]]);
  } else if (args.has('for-transaction')) {
    const transaction = await client.commands.submitAndWaitForTransaction(commands);
    await output.object(transaction, [
      ['offset', String(transaction.offset)],
      ['update', transaction.updateId ?? ''],
      ...(transaction.events ?? []).flatMap((event): [string, string][] =>
        Object.entries(event).map(([kind, body]) => [kind, JSON.stringify(body)]),
      ),
    ]);
  } else {
    const response = await client.commands.submitAndWait(commands);
    await output.object(response, [
      ['offset', String(response.completionOffset)],
      ['update', response.updateId],
    ]);
  }
}

const resubmitRemedy =
  'submit the same command id again: it is unknown whether the commands were accepted, and the ledger executes an id only once';

export const submitVerbs: readonly Verb[] = [
  {
    name: 'submit',
    summary: 'submit commands from FILE (JsCommands as JSON, or - for stdin)',
    operands: ['FILE'],
    flags: [
      { name: 'for-transaction', doc: 'print the transaction instead of offset and update id' },
      { name: 'async', doc: 'do not wait; `ledger completions` prints the outcome' },
    ],
    example: 'ledger submit commands.json --for-transaction',
    remedies: {
      LEDGER_REQUEST_INVALID: 'correct the commands according to the message; this submission changed nothing',
      LEDGER_PERMISSION_DENIED: 'use a token of a user who may act as every party in "actAs"',
      LEDGER_UNREACHABLE: resubmitRemedy,
      LEDGER_UNAVAILABLE: resubmitRemedy,
      LEDGER_INTERNAL: resubmitRemedy,
      INTERRUPTED: resubmitRemedy,
    },
    run: submit,
  },
];
