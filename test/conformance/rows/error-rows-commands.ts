/**
 * Errors of commands, parties, packages and users. They only occur in responses to requests. The category determines
 * the error class, and the facts contain the code of the ledger.
 */
import type { Command, Commands } from '../../../src/ledger/api/commands.ts';
import { errorOf, type ErrorRow, type ErrorSource, type Stage } from './error-row.ts';

const bank = 'Bank::1220aa';
const templateId = '#sandbox-test:Keyed:Account';
const account = { bank, owner: bank, number: '1', balance: '10', version: '1' };
const create: Command = { CreateCommand: { templateId, createArguments: account } };

const commandsOf = (command: Command, commandId: string): Commands => ({
  commands: [command],
  commandId,
  actAs: [bank],
  userId: 'tester',
});

const submitError =
  (command: Command): ErrorSource =>
  ({ client }) =>
    errorOf(client.commands.submitAndWait(commandsOf(command, 'first')));

async function submitTwice({ client }: Stage): ReturnType<ErrorSource> {
  await client.commands.submitAndWait(commandsOf(create, 'again'));
  return await errorOf(client.commands.submitAndWait(commandsOf(create, 'again')));
}

const exercise = (contractId: string): Command => ({
  ExerciseCommand: { templateId, contractId, choice: 'Account_Withdraw', choiceArgument: { amount: '11' } },
});

const row = (
  ledgerCode: string,
  category: number,
  grpcCode: number,
  httpStatus: number,
  http: ErrorSource,
): ErrorRow => ({
  says: ledgerCode,
  code: 'LEDGER_REQUEST_INVALID',
  facts: { ledgerCode, category, grpcCode, definiteAnswer: /^(?:true|false)$/, traceId: /^[0-9a-f]{32}$/ },
  httpStatus,
  http,
});

export const commandRows: readonly ErrorRow[] = [
  row('DUPLICATE_COMMAND', 10, 6, 409, submitTwice),
  row('CONTRACT_NOT_FOUND', 11, 5, 404, submitError(exercise('00aa'))),
  row(
    'CONTRACT_KEY_NOT_FOUND',
    11,
    5,
    404,
    submitError({
      ExerciseByKeyCommand: {
        templateId,
        contractKey: { _1: bank, _2: 'secret' },
        choice: 'Account_Inquire',
        choiceArgument: {},
      },
    }),
  ),
  row(
    'DAML_FAILURE',
    9,
    9,
    400,
    submitError({
      CreateAndExerciseCommand: {
        templateId,
        createArguments: account,
        choice: 'Account_Withdraw',
        choiceArgument: { amount: '11' },
      },
    }),
  ),
  row('USER_NOT_FOUND', 11, 5, 404, ({ client }) => errorOf(client.users.get('nobody'))),
  row('USER_ALREADY_EXISTS', 10, 6, 409, async ({ client }) => {
    await client.users.create({ id: 'twin' });
    return await errorOf(client.users.create({ id: 'twin' }));
  }),
  row('INVALID_DAR', 8, 3, 400, ({ client }) => errorOf(client.packages.uploadDar(Buffer.from('no archive')))),
  row('PACKAGE_NOT_FOUND', 11, 5, 404, ({ client }) => errorOf(client.packages.content('ab'.repeat(32)))),
];
