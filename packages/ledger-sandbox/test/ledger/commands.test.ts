/** Submissions over HTTP: all kinds of commands, keys, deduplication, and the error texts of refusals. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { interfaces } from '../../src/demo/templates/names.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { valueAt, post } from '../server/sockets.ts';

const bank = 'Bank::1220aa';
const alice = 'Alice::1220aa';
const template = '#sandbox-test:Keyed:Account';
const accountOf = (number: string, overrides: object = {}): object => ({
  bank,
  owner: alice,
  number,
  balance: '10',
  version: '1',
  ...overrides,
});

let now = Date.UTC(2026, 7, 14);
let sandbox: Sandbox;
beforeEach(async () => {
  now = Date.UTC(2026, 7, 14);
  sandbox = await startSandbox({ seed: 5, now: () => now });
});
afterEach(async () => {
  await sandbox.close();
});

type PostResult = ReturnType<typeof post>;

const submitAndWait = (command: unknown, commandId: string, overrides: object = {}): PostResult =>
  post(sandbox.url, '/v2/commands/submit-and-wait', {
    commands: [command],
    commandId,
    actAs: [bank, alice],
    ...overrides,
  });
const transact = (command: unknown, commandId: string, overrides: object = {}): PostResult =>
  post(sandbox.url, '/v2/commands/submit-and-wait-for-transaction', {
    commands: { commands: [command], commandId, actAs: [bank, alice], ...overrides },
  });
const createAccount = async (number: string, overrides: object = {}): Promise<string> => {
  const response = await transact(
    { CreateCommand: { templateId: template, createArguments: accountOf(number, overrides) } },
    `create ${number} ${JSON.stringify(overrides).replaceAll(/[^a-z0-9]/gi, '-')}`,
  );
  expect(response.status).toBe(200);
  return valueAt(response.body, 'transaction', 'events', 0, 'CreatedEvent', 'contractId') as string;
};

describe('contract keys', () => {
  it('are printed with a hash, which is the same for the same key', async () => {
    const create = { CreateCommand: { templateId: template, createArguments: accountOf('1', { limit: '5' }) } };
    const first = valueAt((await transact(create, 'a')).body, 'transaction', 'events', 0, 'CreatedEvent');
    const second = valueAt((await transact(create, 'b')).body, 'transaction', 'events', 0, 'CreatedEvent');
    expect(valueAt(first, 'contractKey')).toEqual({ _1: bank, _2: '1' });
    expect(valueAt(first, 'contractKeyHash')).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    expect(valueAt(second, 'contractKeyHash')).toBe(valueAt(first, 'contractKeyHash'));
    expect(valueAt(first, 'createArgument')).toEqual({
      ...accountOf('1', { balance: '10.0000000000', nickname: null, limit: '5.0000000000' }),
    });
  });

  it('omit trailing Optionals', async () => {
    const create = { CreateCommand: { templateId: template, createArguments: accountOf('1', { limit: null }) } };
    const { body } = await transact(create, 'a');
    const argument = valueAt(body, 'transaction', 'events', 0, 'CreatedEvent', 'createArgument') as object;
    expect(Object.keys(argument)).toEqual(['bank', 'owner', 'number', 'balance', 'version']);
  });

  it('find the newest active contract, also after it was replaced', async () => {
    await createAccount('1');
    const newerSandbox = await createAccount('1', { nickname: 'second' });
    const deposit = (commandId: string): PostResult =>
      transact(
        {
          ExerciseByKeyCommand: {
            templateId: template,
            contractKey: { _2: '1', _1: bank },
            choice: 'Account_Deposit',
            choiceArgument: { amount: '2.5' },
          },
        },
        commandId,
      );
    const { body } = await deposit('deposit 1');
    expect(valueAt(body, 'transaction', 'events', 0, 'ArchivedEvent', 'contractId')).toBe(newerSandbox);
    const next = valueAt(body, 'transaction', 'events', 1, 'CreatedEvent');
    expect(valueAt(next, 'createArgument', 'balance')).toBe('12.5000000000');
    const secondDeposit = (await deposit('deposit 2')).body;
    expect(valueAt(secondDeposit, 'transaction', 'events', 0, 'ArchivedEvent', 'contractId')).toBe(
      valueAt(next, 'contractId'),
    );
  });

  it('do not find contracts that the same transaction has archived', async () => {
    const olderContract = await createAccount('1');
    const newerSandbox = await createAccount('1', { nickname: 'second' });
    const archive = {
      ExerciseByKeyCommand: {
        templateId: template,
        contractKey: { _1: bank, _2: '1' },
        choice: 'Archive',
        choiceArgument: {},
      },
    };
    const { body } = await transact(archive, 'both', { commands: [archive, archive] });
    const events = valueAt(body, 'transaction', 'events') as unknown[];
    expect(events.map((event) => valueAt(event, 'ArchivedEvent', 'contractId'))).toEqual([newerSandbox, olderContract]);
    expect((await submitAndWait(archive, 'third')).body['code']).toBe('CONTRACT_KEY_NOT_FOUND');
  });

  it('find no contract if none has the key or no submitting party sees it', async () => {
    await createAccount('1');
    const exerciseByKey = (number: string): object => ({
      ExerciseByKeyCommand: {
        templateId: template,
        contractKey: { _1: bank, _2: number },
        choice: 'Account_Inquire',
        choiceArgument: {},
      },
    });
    const missingKeyResponse = await submitAndWait(exerciseByKey('2'), 'a');
    expect([
      missingKeyResponse.status,
      missingKeyResponse.body['code'],
      missingKeyResponse.body['errorCategory'],
    ]).toEqual([404, 'CONTRACT_KEY_NOT_FOUND', 11]);
    const hiddenKeyResponse = await submitAndWait(exerciseByKey('1'), 'b', { actAs: ['Eve::1220aa'] });
    expect(hiddenKeyResponse.body['code']).toBe('CONTRACT_KEY_NOT_FOUND');
    expect((await submitAndWait(exerciseByKey('1'), 'c', { actAs: [alice] })).status).toBe(200);
  });
});

describe('the other commands', () => {
  it('create and exercise in one transaction, and leave no active contract', async () => {
    const createAndExercise = {
      CreateAndExerciseCommand: {
        templateId: template,
        createArguments: accountOf('7'),
        choice: 'Account_Withdraw',
        choiceArgument: { amount: '4' },
      },
    };
    const eventFormat = { filtersByParty: { [alice]: {} } };
    const { body } = await post(sandbox.url, '/v2/commands/submit-and-wait-for-transaction', {
      commands: { commands: [createAndExercise], commandId: 'x', actAs: [bank, alice] },
      transactionFormat: { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' },
    });
    const kinds = (valueAt(body, 'transaction', 'events') as object[]).map((event) => Object.keys(event)[0]);
    expect(kinds).toEqual(['CreatedEvent', 'ExercisedEvent', 'CreatedEvent']);
    expect(valueAt(body, 'transaction', 'events', 0, 'CreatedEvent', 'acsDelta')).toBe(false);
  });

  it('exercise through an interface only if the template implements it', async () => {
    const token = '#splice-amulet:Splice.Amulet:Amulet';
    const createArguments = { dso: bank, owner: alice, amount: { initialAmount: '1.0000000000' } };
    const { body } = await transact({ CreateCommand: { templateId: token, createArguments } }, 'a');
    const contractId = valueAt(body, 'transaction', 'events', 0, 'CreatedEvent', 'contractId');
    const archive = (templateId: string): object => ({
      ExerciseCommand: { templateId, contractId, choice: 'Archive', choiceArgument: {} },
    });
    const otherResponse = await submitAndWait(archive(`#${interfaces.transferInstruction}`), 'b');
    expect([otherResponse.status, otherResponse.body['code']]).toEqual([400, 'CONTRACT_DOES_NOT_IMPLEMENT_INTERFACE']);
    const wrongTemplateResponse = await submitAndWait(archive(template), 'c');
    expect([wrongTemplateResponse.status, wrongTemplateResponse.body['code']]).toEqual([400, 'WRONGLY_TYPED_CONTRACT']);
    expect((await submitAndWait(archive(`#${interfaces.holding}`), 'd')).status).toBe(200);
  });
});

describe('the fields of a submission', () => {
  const create = { CreateCommand: { templateId: template, createArguments: accountOf('1') } };

  it.each([
    ['an unknown synchronizer', { synchronizerId: 'other::1220ff' }, 'INVALID_PRESCRIBED_SYNCHRONIZER_ID'],
    ['a malformed synchronizer', { synchronizerId: 'global' }, 'INVALID_FIELD'],
    ['a command id with strange characters', { commandId: 'a\nb' }, 'INVALID_FIELD'],
    ['a missing command id', { commandId: '' }, 'MISSING_FIELD'],
    ['no acting party', { actAs: [] }, 'MISSING_FIELD'],
    ['no command', { commands: [] }, 'MISSING_FIELD'],
    [
      'two lower bounds of ledger time',
      { minLedgerTimeAbs: '2026-08-14T00:00:00Z', minLedgerTimeRel: { seconds: 1, nanos: 0 } },
      'INVALID_ARGUMENT',
    ],
    [
      'a deduplication period above a week',
      { deduplicationPeriod: { DeduplicationDuration: { value: { seconds: 604_801, nanos: 0 } } } },
      'INVALID_DEDUPLICATION_PERIOD',
    ],
  ])('are refused with %s', async (_, change, code) => {
    const response = await submitAndWait(create, 'c', change);
    expect([response.status, response.body['code']]).toEqual([400, code]);
    expect(sandbox.ledger.ledgerEnd()).toBe(0);
  });

  it('are accepted with disclosed contracts and a lower bound of ledger time', async () => {
    const timeOptions = {
      minLedgerTimeAbs: '2026-08-14T00:00:00.5Z',
      disclosedContracts: [],
      packageIdSelectionPreference: [],
    };
    expect((await submitAndWait(create, 'c', timeOptions)).status).toBe(200);
  });
});

describe('deduplication', () => {
  const create = { CreateCommand: { templateId: template, createArguments: accountOf('1') } };

  it('refuses the same change within the period, with the id of the first submission', async () => {
    const first = await submitAndWait(create, 'same', { submissionId: 'first' });
    const second = await submitAndWait(create, 'same', { submissionId: 'second', actAs: [alice, bank] });
    expect(second.status).toBe(409);
    expect([second.body['code'], second.body['errorCategory'], second.body['grpcCodeValue']]).toEqual([
      'DUPLICATE_COMMAND',
      10,
      6,
    ]);
    expect(valueAt(second.body, 'context', 'existing_submission_id')).toBe('first');
    expect(valueAt(second.body, 'context', 'completion_offset')).toBe(String(first.body['completionOffset']));
    expect(second.body['correlationId']).toBe('second');
  });

  it('treats a submission with another user, other parties or another command id as a different change', async () => {
    await submitAndWait(create, 'same');
    expect((await submitAndWait(create, 'same', { userId: 'other' })).status).toBe(200);
    expect((await submitAndWait(create, 'same', { actAs: [bank] })).status).toBe(200);
    expect((await submitAndWait(create, 'another')).status).toBe(200);
  });

  it('ends with its period, by time and by offset', async () => {
    const { body } = await submitAndWait(create, 'same');
    const duration = { deduplicationPeriod: { DeduplicationDuration: { value: { seconds: 30, nanos: 0 } } } };
    now += 29_000;
    expect((await submitAndWait(create, 'same', duration)).status).toBe(409);
    now += 2_000;
    expect((await submitAndWait(create, 'same', duration)).status).toBe(200);
    const deduplication = { deduplicationPeriod: { DeduplicationOffset: { value: body['completionOffset'] } } };
    expect((await submitAndWait(create, 'same', deduplication)).status).toBe(409);
    const end = { deduplicationPeriod: { DeduplicationOffset: { value: sandbox.ledger.ledgerEnd() } } };
    expect((await submitAndWait(create, 'same', end)).status).toBe(200);
  });

  it('is reported only in the completion if the client does not wait', async () => {
    await submitAndWait(create, 'same');
    const request = { commands: [create], commandId: 'same', actAs: [bank, alice] };
    expect(await post(sandbox.url, '/v2/commands/async/submit', request)).toEqual({ status: 200, body: {} });
    const brokenRequest = { ...request, commandId: 'x', commands: [{ CreateCommand: { templateId: '#nobody:A:B' } }] };
    expect((await post(sandbox.url, '/v2/commands/async/submit', brokenRequest)).status).toBe(404);
  });
});

describe('a refusal of a submission', () => {
  it('contains the failure of the model and the exercises in which it occurred', async () => {
    const contractId = await createAccount('1');
    const withdraw = {
      ExerciseCommand: {
        templateId: template,
        contractId,
        choice: 'Account_Withdraw',
        choiceArgument: { amount: '11' },
      },
    };
    const { status, body } = await submitAndWait(withdraw, 'w-1', { submissionId: 's-1', workflowId: 'wf' });
    expect([status, body['code'], body['errorCategory'], body['grpcCodeValue']]).toEqual([400, 'DAML_FAILURE', 9, 9]);
    expect(body['cause']).toBe(
      'Interpretation error: Error: User failure: UNHANDLED_EXCEPTION/DA.Exception.AssertionFailed:AssertionFailed (error category 9): Insufficient balance',
    );
    expect(body['correlationId']).toBe('s-1');
    expect(valueAt(body, 'context', 'error_id')).toBe(
      'UNHANDLED_EXCEPTION/DA.Exception.AssertionFailed:AssertionFailed',
    );
    expect(valueAt(body, 'context', 'exercise_trace')).toMatch(
      /^ {4}in choice [0-9a-f]{8}:Keyed:Account:Account_Withdraw on contract 00[0-9a-f]{8} \(#0\)\n {4}in exercise command [0-9a-f]{8}:Keyed:Account:Account_Withdraw on contract 00[0-9a-f]{8}\.\n$/,
    );
    expect(valueAt(body, 'context', 'commands')).toBe(
      `{readAs: [], deduplicationPeriod: {duration: 'PT168H'}, submittedAt: '2026-08-14T00:00:00.000001Z', submissionId: 's-1', actAs: ['${bank}', '${alice}'], commandId: 'w-1', userId: 'participant_admin', workflowId: 'wf'}`,
    );
  });

  it('contains the id of the missing contract', async () => {
    const archive = { templateId: template, contractId: '00ff', choice: 'Archive', choiceArgument: {} };
    const { status, body } = await submitAndWait({ ExerciseCommand: archive }, 'a');
    expect([status, body['code'], body['errorCategory']]).toEqual([404, 'CONTRACT_NOT_FOUND', 11]);
    expect(body['cause']).toBe('Contract could not be found with id 00ff');
    expect(body['resources']).toEqual([['ErrorResource(CID)', '00ff']]);
  });
});
