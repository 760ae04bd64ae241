/** `projection`: adds, lists, checks, refills and drops projections of users. */
import { loadConfig } from '../../config/config.ts';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';
import type { Database } from '../../store/connection/database.ts';
import type { AddedProjection, UserSelect } from '../../store/user-projections/change.ts';
import type { ListedProjection } from '../../store/user-projections/list.ts';
import type { TrialResult } from '../../store/user-projections/trial.ts';
import { json, writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = `ledger-indexer projection add NAME --sql FILE [--key COLUMNS] [--index COLUMNS]… [--party-column COLUMN] [--role ROLE] [--no-look-ups]
  ledger-indexer projection list [--json]
  ledger-indexer projection check FILE [--role ROLE]
  ledger-indexer projection refill NAME
  ledger-indexer projection drop NAME`;

const actions = ['add', 'list', 'check', 'refill', 'drop'] as const;
/** Reading the trial ranges may take longer than the statements of other commands. */
const statementTimeoutMs = 120_000;

export const projectionCommand: Command = {
  name: 'projection',
  usage: 'add NAME --sql FILE | list | check FILE | refill NAME | drop NAME',
  summary: 'store the rows of your own SELECT, always current',
  does: [
    'The SELECT returns the rows of a range of offsets: "offset" > :from and "offset" <= :to. The indexer stores them, and',
    'view NAME in schema derived returns the stored rows and computes those that are not stored yet. add with another file',
    'changes the SELECT; readers use the previous rows until the new ones are stored.',
  ],
  operands: [
    { name: 'ACTION', words: actions },
    { name: 'NAME|FILE', optional: true },
  ],
  flags: [
    { name: 'sql', value: 'FILE', doc: 'file with the SELECT' },
    { name: 'key', value: 'COLUMNS', doc: 'columns that identify a row of an offset, separated by commas' },
    { name: 'index', value: 'COLUMNS', list: true, doc: 'columns of an index, separated by commas; may be repeated' },
    {
      name: 'party-column',
      value: 'COLUMN',
      doc: 'column with the party of a row; readers limited to parties may then read',
    },
    { name: 'role', value: 'ROLE', doc: 'role with whose rights the rows are read; default SCHEMA_reader' },
    {
      name: 'no-look-ups',
      doc: 'rows depend on events at their own offset only; changes of history then remove fewer rows',
    },
    json,
  ],
  examples: ['projection check volumes.sql', 'projection add volumes --sql volumes.sql --index owner'],
  exits: writeExitCodes,
  page: 'docs/how-to/query/own-projections.md',
  /** @throws IndexerError USAGE, PROJECTION_REFUSED, PROJECTION_NOT_FOUND, QUERY_REFUSED, STORE_NOT_PERMITTED */
  run: async ({ args, env, print }) => {
    const { verb, action } = await actionOf(args);
    const openOptions = { command: 'projection', feature: `projection ${verb}`, statementTimeoutMs } as const;
    await withDatabase(loadConfig(env, args.options), openOptions, (database) => action(database, print));
  },
};

type Verb = (typeof actions)[number];
type Action = (database: Database, print: PrintLine) => Promise<void>;

async function actionOf(args: Args): Promise<{ readonly verb: Verb; readonly action: Action }> {
  const [word, operand, ...extra] = args.operands;
  const verb = actions.find((candidate) => candidate === word);
  if (verb === undefined || extra.length > 0) throw usageError(`projection takes one of ${actions.join(', ')}`, usage);
  assertOwnFlags(args, verb);
  if (verb === 'list') {
    if (operand !== undefined) throw usageError('projection list takes no name', usage);
    return { verb, action: (database, print) => list(database, args.has('json'), print) };
  }
  if (verb === 'check') {
    if (operand === undefined) throw usageError('projection check needs a file', usage);
    return { verb, action: checking(await textOf(operand), args) };
  }
  const name = nameOf(operand);
  if (verb === 'add') return { verb, action: await adding(name, args) };
  return { verb, action: verb === 'refill' ? refilling(name) : dropping(name) };
}

const flagsOf: Readonly<Record<Verb, readonly string[]>> = {
  add: ['sql', 'key', 'index', 'party-column', 'role', 'no-look-ups'],
  list: ['json'],
  check: ['role'],
  refill: [],
  drop: [],
};

function assertOwnFlags(args: Args, verb: Verb): void {
  const given = [
    ...['sql', 'key', 'party-column', 'role'].filter((flag) => args.text(flag) !== undefined),
    ...(args.texts('index').length > 0 ? ['index'] : []),
    ...['no-look-ups', 'json'].filter((flag) => args.has(flag)),
  ];
  const stray = given.find((flag) => !flagsOf[verb].includes(flag));
  if (stray !== undefined) throw usageError(`--${stray} is not a flag of projection ${verb}`, usage);
}

function nameOf(operand: string | undefined): string {
  if (operand !== undefined && /^[a-z][a-z0-9_]{0,49}$/.test(operand)) return operand;
  throw usageError('projection needs a name of at most 50 characters a-z, 0-9 and _, starting with a letter', usage);
}

async function textOf(file: string): Promise<string> {
  let text: string;
  try {
    text = await readSmallFile(file);
  } catch (cause) {
    throw usageError(`the file ${file} cannot be read: ${unreadableReason(cause)}`, usage);
  }
  if (text.includes('\0')) throw usageError(`the file ${file} contains NUL, which Postgres does not accept`, usage);
  return text;
}

function columnsOf(list: string): readonly string[] {
  return list.split(',').map((name) => name.trim());
}

function optionsOf(args: Args): Omit<UserSelect, 'text' | 'readRole'> {
  const key = args.text('key');
  return {
    key: key === undefined ? [] : columnsOf(key),
    indexes: args.texts('index').map(columnsOf),
    partyColumn: args.text('party-column'),
    looksUp: !args.has('no-look-ups'),
  };
}

/** The role of `--role`, or the default role, which is created if it is missing. */
async function readRoleOf(database: Database, args: Args): Promise<string> {
  const role = args.text('role');
  if (role !== undefined) return role;
  const { defaultReadRole, ensureDefaultReadRole } = await import('../../store/user-projections/read-role.ts');
  await ensureDefaultReadRole(database);
  return defaultReadRole(database.schema);
}

async function adding(name: string, args: Args): Promise<Action> {
  const file = args.text('sql');
  if (file === undefined) throw usageError('projection add needs --sql', usage);
  const text = await textOf(file);
  return async (database, print) => {
    const { addProjection } = await import('../../store/user-projections/change.ts');
    const readRole = await readRoleOf(database, args);
    printAdded(name, await addProjection(database, name, { ...optionsOf(args), text, readRole }), print);
  };
}

function refilling(name: string): Action {
  return async (database, print) => {
    const { refillProjection } = await import('../../store/user-projections/change.ts');
    printAdded(name, await refillProjection(database, name), print);
  };
}

function printAdded(name: string, { trial, replaces }: AddedProjection, print: PrintLine): void {
  printTrial(trial, print);
  print(
    replaces
      ? `${name} is stored again in the background; readers use the previous rows until then`
      : `${name} is stored in the background; until then its view computes all rows`,
  );
}

function checking(text: string, args: Args): Action {
  return async (database, print) => {
    const { checkSelect } = await import('../../store/user-projections/change.ts');
    const readRole = await readRoleOf(database, args);
    const options = { key: [], indexes: [], partyColumn: undefined, looksUp: true };
    printTrial(await checkSelect(database, { ...options, text, readRole }), print);
    print('the SELECT can be added');
  };
}

function printTrial({ updates, rows, msPerUpdate }: TrialResult, print: PrintLine): void {
  if (msPerUpdate === undefined) return print('no updates are stored yet, so the SELECT was not tried on any');
  print(
    `tried on ${String(updates)} updates: ${String(rows)} rows, ${msPerUpdate.toFixed(2)} ms for an update, the same rows for any ranges`,
  );
}

function dropping(name: string): Action {
  return async (database, print) => {
    const { dropProjection } = await import('../../store/user-projections/change.ts');
    await dropProjection(database, name);
    print(`${name} is dropped`);
  };
}

async function list(database: Database, asJson: boolean, print: PrintLine): Promise<void> {
  const { listProjections } = await import('../../store/user-projections/list.ts');
  const projections = await listProjections(database);
  if (!asJson && projections.length === 0) print('there is no projection of a user');
  for (const projection of projections) print(asJson ? JSON.stringify(projection) : lineOf(projection));
}

function lineOf({ name, state, version, role, offset, checkpoint, problem }: ListedProjection): string {
  const position = offset === null ? 'no rows stored' : `at offset ${String(offset)} of ${String(checkpoint ?? 0)}`;
  const columns = [name, `version ${String(version)}`, state, position, `as ${role}`];
  return [...columns, ...(problem === null ? [] : [`parked: ${problem}`])].join('  ');
}
