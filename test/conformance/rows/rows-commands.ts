/** Submission of commands of every kind, and of reassignments. */
import { expect } from 'vitest';
import type { Command, Commands, ReassignmentCommands } from '../../../src/ledger/api/commands.ts';
import type { Transaction } from '../../../src/ledger/api/update-types.ts';
import type { Call, Case, Session } from './row.ts';
import { accountTemplate, anyParty, type World } from '../world.ts';

const effects = { eventFormat: anyParty, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' };

/** Create arguments of an account. `change` replaces fields. */
const accountOf = ({ bank, alice }: World, number: string, change: object = {}): object => ({
  bank,
  owner: alice,
  number,
  balance: '10',
  version: '1',
  ...change,
});

const create = (world: World, number = world.unique('account')): Command => ({
  CreateCommand: { templateId: accountTemplate, createArguments: accountOf(world, number) },
});

const deposit = { choice: 'Account_Deposit', choiceArgument: { amount: '2.5' } };
const overdraftChoice = { choice: 'Account_Withdraw', choiceArgument: { amount: '99' } };

/** A submission of one command that acts as both parties. */
function commandsOf(world: World, command: Command, change: Partial<Commands> = {}): Commands {
  return { commands: [command], commandId: world.unique('command'), actAs: [world.bank, world.alice], ...change };
}

/** Creates an account as the admin; returns its contract id. */
async function account(world: World, number = world.unique('account')): Promise<string> {
  const { client } = world.session('admin');
  const { events = [] } = await client.commands.submitAndWaitForTransaction(commandsOf(world, create(world, number)));
  return events[0]?.CreatedEvent?.contractId ?? '';
}

type Submit = (session: Session, commands: Commands) => Promise<unknown>;

const submit =
  (submitVia: Submit, command: (world: World) => Command | Promise<Command>, change: Partial<Commands> = {}): Call =>
  async (session, world) =>
    submitVia(session, commandsOf(world, await command(world), change));

/** Calls with every kind of command except create commands. */
function kinds(submitVia: Submit): NonNullable<Case['also']> {
  return {
    ExerciseCommand: submit(submitVia, async (world) => ({
      ExerciseCommand: { templateId: accountTemplate, contractId: await account(world), ...deposit },
    })),
    CreateAndExerciseCommand: submit(submitVia, (world) => ({
      CreateAndExerciseCommand: {
        templateId: accountTemplate,
        createArguments: accountOf(world, world.unique('account')),
        ...deposit,
      },
    })),
    ExerciseByKeyCommand: submit(submitVia, async (world) => {
      const number = world.unique('account');
      await account(world, number);
      const contractKey = { _1: world.bank, _2: number };
      return { ExerciseByKeyCommand: { templateId: accountTemplate, contractKey, ...deposit } };
    }),
  };
}

const withdrawal = (contractId: string): Command => ({
  ExerciseCommand: { templateId: accountTemplate, contractId, ...overdraftChoice },
});

/**
 * Commands that are rejected before they are sequenced, so that clients that do not wait also receive the rejection.
 */
function refusals(submitVia: Submit): NonNullable<Case['refused']> {
  const period = (value: number): Partial<Commands> => ({ deduplicationPeriod: { DeduplicationOffset: { value } } });
  const unknownTemplate = { CreateCommand: { templateId: `${'ab'.repeat(32)}:A:B`, createArguments: {} } };
  const unknownPackage = { CreateCommand: { templateId: '#no-such-package:A:B', createArguments: {} } };
  return {
    MISSING_FIELD: submit(submitVia, create, { commands: [] }),
    INVALID_FIELD: submit(submitVia, create, { commandId: 'two\nlines' }),
    INVALID_ARGUMENT: submit(submitVia, create, {
      minLedgerTimeAbs: '2026-08-14T00:00:00Z',
      minLedgerTimeRel: { seconds: 1, nanos: 0 },
    }),
    INVALID_DEDUPLICATION_PERIOD: submit(submitVia, create, period(1)),
    INVALID_PRESCRIBED_SYNCHRONIZER_ID: submit(submitVia, create, { synchronizerId: 'elsewhere::1220aa' }),
    TEMPLATES_OR_INTERFACES_NOT_FOUND: submit(submitVia, () => unknownTemplate),
    PACKAGE_NAMES_NOT_FOUND: submit(submitVia, () => unknownPackage),
    CONTRACT_NOT_FOUND: submit(submitVia, () => withdrawal('00ff')),
    CONTRACT_KEY_NOT_FOUND: submit(submitVia, ({ bank }) => ({
      ExerciseByKeyCommand: { templateId: accountTemplate, contractKey: { _1: bank, _2: 'none' }, ...deposit },
    })),
    DAML_FAILURE: submit(submitVia, async (world) => withdrawal(await account(world))),
    DAML_AUTHORIZATION_ERROR: async (session, world) =>
      submitVia(session, { ...commandsOf(world, create(world)), actAs: [world.alice] }),
  };
}

/** Submits the same change twice. */
const repeatedCall =
  (submitVia: Submit): Call =>
  async (session, world) => {
    const commands = commandsOf(world, create(world));
    await world.session('admin').client.commands.submitAndWait(commands);
    return await submitVia(session, commands);
  };

const submitAndWait: Submit = ({ client }, commands) => client.commands.submitAndWait(commands);
const transact: Submit = ({ client }, commands) => client.commands.submitAndWaitForTransaction(commands, effects);
const async: Submit = ({ client }, commands) => client.commands.submit(commands);

type Reassign = (session: Session, commands: ReassignmentCommands) => Promise<unknown>;

async function unassignment(world: World, change: Partial<ReassignmentCommands> = {}): Promise<ReassignmentCommands> {
  const [source, target] = world.synchronizers;
  const value = { contractId: await account(world), source, target };
  const commands = [{ command: { UnassignCommand: { value } } }];
  return { commands, commandId: world.unique('move'), submitter: world.bank, ...change };
}

const reassign =
  (reassignVia: Reassign, change: Partial<ReassignmentCommands> = {}): Call =>
  async (session, world) =>
    reassignVia(session, await unassignment(world, change));

const waitForReassignment: Reassign = ({ client }, commands) =>
  client.commands.submitAndWaitForReassignment(commands, anyParty);
const reassignAsync: Reassign = ({ client }, commands) => client.commands.submitReassignment(commands);

function reassignmentRefusals(reassignVia: Reassign): NonNullable<Case['refused']> {
  return {
    MISSING_FIELD: reassign(reassignVia, { commands: [] }),
    INVALID_FIELD: reassign(reassignVia, { commandId: 'two\nlines' }),
    CONTRACT_NOT_FOUND: async (session, world) => {
      const [source, target] = world.synchronizers;
      const commands = [{ command: { UnassignCommand: { value: { contractId: '00ff', source, target } } } }];
      return reassignVia(session, await unassignment(world, { commands }));
    },
    INVALID_ARGUMENT: async (session, world) => {
      const [source] = world.synchronizers;
      const commands = [{ command: { UnassignCommand: { value: { contractId: '00ff', source, target: source } } } }];
      return reassignVia(session, await unassignment(world, { commands }));
    },
  };
}

export const commandCases: readonly Case[] = [
  {
    operation: 'POST /v2/commands/submit-and-wait',
    as: 'admin',
    call: submit(submitAndWait, create),
    check: (result) => expect(result).toMatchObject({ updateId: expect.stringMatching(/^1220/u) }),
    also: kinds(submitAndWait),
    body: 'json',
    refused: { ...refusals(submitAndWait), DUPLICATE_COMMAND: repeatedCall(submitAndWait) },
  },
  {
    operation: 'POST /v2/commands/submit-and-wait-for-transaction',
    as: 'admin',
    call: submit(({ client }, commands) => client.commands.submitAndWaitForTransaction(commands), create),
    check: (result) => expect((result as Transaction).events?.[0]?.CreatedEvent?.createArgument).toBeDefined(),
    also: kinds(transact),
    body: 'json',
    refused: { ...refusals(transact), DUPLICATE_COMMAND: repeatedCall(transact) },
  },
  {
    operation: 'POST /v2/commands/async/submit',
    as: 'admin',
    call: submit(async, create),
    check: (result) => expect(result).toBeUndefined(),
    also: { ...kinds(async), 'a change made before, reported by its completion': repeatedCall(async) },
    body: 'json',
    refused: refusals(async),
  },
  {
    operation: 'POST /v2/commands/submit-and-wait-for-reassignment',
    as: 'admin',
    call: reassign(waitForReassignment),
    check: (result) => expect(JSON.stringify(result)).toContain('"JsUnassignedEvent":{"value":'),
    body: 'json',
    refused: reassignmentRefusals(waitForReassignment),
  },
  {
    operation: 'POST /v2/commands/async/submit-reassignment',
    as: 'admin',
    call: reassign(reassignAsync),
    body: 'json',
    refused: reassignmentRefusals(reassignAsync),
  },
];
