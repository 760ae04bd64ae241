/** `webhook`: manages webhooks, which deliver changes over HTTP. */
import { parseCursor, type ChangeCursor, type Until } from '../../model/push/changes.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import type { AddedWebhook, ListedWebhook } from '../../store/webhooks/hooks.ts';
import { parseUntil, untilExpected } from '../../config/selection/change-selection.ts';
import { eventTypes } from '../../config/selection/event-names.ts';
import { urlRefusalReason } from '../../webhooks/reach.ts';
import { newSecret } from '../../webhooks/signature.ts';
import { json, writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import { addressFromFlags } from '../command-line/database-address.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { rotateSecret, sendTest } from './secrets.ts';
import { selectedBy, selectionFlags, selectionTexts, unknownNamesOf } from './selection.ts';

const usage = `ledger-indexer webhook add NAME --url URL|--url-file FILE --role ROLE [--template T] [--party P] [--event-type TYPE]… [--interface I] [--choice C]… [--event NAME]… [--where FILTER] [--projection NAME] [--after OFFSET] [--until OFFSET|TIME]
  ledger-indexer webhook list [--json]
  ledger-indexer webhook remove NAME
  ledger-indexer webhook resume NAME [--after OFFSET]
  ledger-indexer webhook test NAME
  ledger-indexer webhook rotate NAME [--finish]
  ledger-indexer webhook dead-letters NAME [--json]
  ledger-indexer webhook replay NAME [--at PLACE]
  ledger-indexer webhook discard NAME [--at PLACE]`;

const actions = ['add', 'list', 'remove', 'resume', 'test', 'rotate', 'dead-letters', 'replay', 'discard'] as const;
const maxListed = 1_000;

export const webhookCommand: Command = {
  name: 'webhook',
  usage:
    'add NAME --url URL --role ROLE [--after OFFSET] | list | remove NAME | resume NAME | test NAME | rotate NAME | dead-letters NAME | replay NAME',
  summary: 'manage webhooks and their dead letters',
  does: [
    'The writing indexer sends each event until the receiver accepts it, signed as Standard Webhooks, in order per contract.',
    'add prints the signing secret once. Without --after, delivery starts with the next commit.',
    'rotate prints a new signing secret once. Until rotate --finish, events are signed with the previous secret too.',
    'test sends one event of type test from this machine, with the networks of INDEXER_WEBHOOK_NETWORKS.',
  ],
  operands: [
    { name: 'ACTION', words: actions },
    { name: 'NAME', optional: true },
  ],
  flags: [
    { name: 'url', value: 'URL', doc: 'https address of the receiver; see INDEXER_WEBHOOK_NETWORKS' },
    { name: 'url-file', value: 'FILE', doc: 'file with the URL, for an address that contains a secret' },
    { name: 'role', value: 'ROLE', doc: 'role of grant-reader; the webhook sends only data that it may see' },
    { name: 'template', value: 'NAME', doc: 'only events of this template, package-name:Module:Entity' },
    { name: 'party', value: 'PARTY', doc: 'only events that name this party' },
    {
      name: 'event-type',
      value: 'TYPE',
      list: true,
      doc: `only events of this type; may be repeated: ${eventTypes.join(', ')}`,
    },
    { name: 'interface', value: 'NAME', doc: 'only events seen through this interface, package-name:Module:Interface' },
    { name: 'choice', value: 'NAME', list: true, doc: 'only exercises of this choice; may be repeated' },
    {
      name: 'event',
      value: 'NAME',
      list: true,
      doc: 'only these token events, such as transfer.accepted or transfer.*',
    },
    { name: 'where', value: 'FILTER', doc: 'only events that match, such as "payload.amount > 10"' },
    { name: 'allow-unseen', doc: 'accept names that do not occur yet' },
    { name: 'projection', value: 'NAME', doc: 'rows of this projection instead of events, see projection' },
    { name: 'after', value: 'OFFSET', doc: 'deliver events after this offset' },
    { name: 'until', value: 'OFFSET|TIME', doc: 'end after this offset, or before the first later update' },
    { name: 'finish', doc: 'of rotate: no longer sign with the previous secret' },
    { name: 'at', value: 'PLACE', doc: 'one dead letter: OFFSET-NODE, as printed by dead-letters' },
    json,
  ],
  examples: [
    'webhook add billing --url https://billing.example.com/hooks --role billing_reader',
    'webhook dead-letters billing',
  ],
  exits: writeExitCodes,
  page: 'docs/how-to/integrate/webhooks.md',
  /** @throws IndexerError USAGE, WEBHOOK_REFUSED, WEBHOOK_NOT_FOUND, WEBHOOK_TEST_FAILED, HOLD_REFUSED, STORE_NOT_PERMITTED, PROJECTION_NOT_FOUND, PROJECTION_REFUSED */
  run: async ({ args, env, print }) => {
    const action = actionOf(args);
    const [verb] = args.operands;
    const openOptions = {
      command: 'webhook',
      feature: `webhook ${actions.find((candidate) => candidate === verb) ?? 'list'}`,
    } as const;
    const config = loadConfig(env, args.options);
    await withDatabase(config, openOptions, (database) => action(database, print, config));
  },
};

type Action = (database: Database, print: PrintLine, config: Config) => Promise<void>;

function actionOf(args: Args): Action {
  const [action = '', name, ...extraArguments] = args.operands;
  if (extraArguments.length > 0) throw usageError('webhook takes one name', usage);
  assertOwnFlags(args, action);
  if (action === 'list') {
    if (name !== undefined) throw usageError('webhook list takes no name', usage);
    return (database, print) => list(database, args.has('json'), print);
  }
  if (name === undefined || !/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)) {
    throw usageError(
      'webhook needs a name of at most 63 characters a-z, 0-9, _ and -, starting with a letter or digit',
      usage,
    );
  }
  if (action === 'add') return adding(name, args);
  if (action === 'resume') return resuming(name, args);
  if (action === 'rotate') return (database, print) => rotateSecret(database, name, args.has('finish'), print);
  if (action === 'test') return (database, print, config) => sendTest(database, name, config, print);
  const cursor = cursorOf(args.text('at'));
  if (action === 'dead-letters') return (database, print) => printDeadLetters(database, name, args.has('json'), print);
  return (database, print) => changeDeadLetters(action, { database, name, cursor }, print);
}

const flagsOf: Readonly<Record<string, readonly string[]>> = {
  add: ['url', 'url-file', 'role', 'projection', 'after', 'until', ...selectionFlags],
  list: ['json'],
  resume: ['after'],
  rotate: ['finish'],
  'dead-letters': ['json'],
  replay: ['at'],
  discard: ['at'],
};

function assertOwnFlags(args: Args, action: string): void {
  const hasFlag = (flag: string): boolean =>
    ['json', 'finish', 'allow-unseen'].includes(flag)
      ? args.has(flag)
      : ['event-type', 'choice', 'event'].includes(flag)
        ? args.texts(flag).length > 0
        : args.text(flag) !== undefined;
  const allFlags = [...new Set(Object.values(flagsOf).flat())];
  const strayFlag = allFlags.find((flag) => hasFlag(flag) && flagsOf[action]?.includes(flag) !== true);
  if (strayFlag !== undefined) throw usageError(`--${strayFlag} is not a flag of webhook ${action}`, usage);
}

function adding(name: string, args: Args): Action {
  const [address, role, after] = [addressFromFlags(args, 'url', usage), args.text('role'), parseAfter(args)];
  if (address === undefined || role === undefined) throw usageError('webhook add needs --url and --role', usage);
  const { url } = address;
  // The indexer that delivers decides about networks. Only addresses that no setting allows are rejected here.
  const reason = urlRefusalReason(url, 'loopback');
  if (reason !== undefined) throw usageError(`--url cannot be delivered to: ${reason}`, usage);
  const [selected, until, projection] = [selectedBy(args, usage), parseEnd(args), args.text('projection') ?? null];
  const { template, party, eventTypes: types, selection } = selected;
  const isSelective = template !== null || party !== null || types.length > 0 || selection !== null || until !== null;
  if (projection !== null && isSelective) throw usageError('--projection cannot be combined with conditions', usage);
  const newWebhook: AddedWebhook = { name, url, secret: newSecret(), role, ...selected, projection, after, until };
  return (database, print) => add(database, newWebhook, args.has('allow-unseen'), print);
}

function parseEnd(args: Args): Until | null {
  const text = args.text('until');
  if (text === undefined) return null;
  const until = parseUntil(text);
  if (until === undefined) throw usageError(`--until takes ${untilExpected}`, usage);
  return until;
}

function resuming(name: string, args: Args): Action {
  const after = parseAfter(args);
  return async (database, print) => {
    const { resumeWebhook } = await import('../../store/webhooks/hooks.ts');
    await resumeWebhook(database, name, after);
    print(`deliveries to ${name} resume`);
  };
}

function parseAfter(args: Args): number | undefined {
  const text = args.text('after');
  if (text !== undefined && !/^\d{1,15}$/.test(text)) throw usageError('--after takes an offset', usage);
  return text === undefined ? undefined : Number(text);
}

function cursorOf(text: string | undefined): ChangeCursor | undefined {
  if (text === undefined) return undefined;
  const cursor = parseCursor(text);
  if (cursor?.node === null || cursor === undefined)
    throw usageError('--at takes OFFSET-NODE, as printed by webhook dead-letters', usage);
  return cursor;
}

async function add(
  database: Database,
  newWebhook: AddedWebhook,
  mayBeUnknown: boolean,
  print: PrintLine,
): Promise<void> {
  const { addWebhook } = await import('../../store/webhooks/hooks.ts');
  const notes = await unknownNamesOf(database, newWebhook, mayBeUnknown);
  const beginOffset = await addWebhook(database, newWebhook);
  const { projection = null } = newWebhook;
  print(
    `${newWebhook.name} receives ${projection === null ? 'events' : `rows of ${projection}`} after ${beginOffset === null ? 'the seed' : `offset ${String(beginOffset)}`}`,
  );
  print(`signing secret, printed only once: ${newWebhook.secret}`);
  for (const note of notes) print(note);
}

async function list(database: Database, asJson: boolean, print: PrintLine): Promise<void> {
  const { listWebhooks } = await import('../../store/webhooks/hooks.ts');
  const webhooks = await listWebhooks(database);
  if (!asJson && webhooks.length === 0) print('there is no webhook');
  for (const webhook of webhooks) print(asJson ? JSON.stringify(webhook) : lineOf(webhook));
}

function lineOf(webhook: ListedWebhook): string {
  const { name, state, receiver, role, projection, cursor, checkpoint, deadLetters, lastProblem, missed } = webhook;
  const { problem, problemAt: problemTime } = webhook;
  const failureLines = problem === null ? [] : [`failing since ${problemTime?.toISOString() ?? '?'}: ${problem}`];
  const positionText =
    cursor === null ? 'no position yet' : `offset ${String(cursor.offset)} of ${String(checkpoint ?? 0)}`;
  const sourceColumns = projection === null ? selectionTexts(webhook) : [`rows of ${projection}`];
  const columns = [
    name,
    state,
    receiver,
    ...sourceColumns,
    `as ${role}`,
    `at ${positionText}`,
    `${String(deadLetters)} dead letters`,
  ];
  const rejectionLines = lastProblem === null ? [] : [`last rejection: ${lastProblem}`];
  return [...columns, ...failureLines, ...rejectionLines, ...(missed === null ? [] : [missed])].join('  ');
}

async function printDeadLetters(database: Database, name: string, asJson: boolean, print: PrintLine): Promise<void> {
  const { listDead } = await import('../../store/webhooks/hooks.ts');
  const deadLetters = await listDead(database, name, maxListed);
  if (!asJson && deadLetters.length === 0) print(`${name} has no dead letters`);
  for (const deadLetter of deadLetters) {
    const { offset, node, contract, attempts, problem, replay: isReplayed, failedAt } = deadLetter;
    const position = `${String(offset)}-${String(node)}`;
    const columns = [position, contract, `${String(attempts)} attempts`, failedAt.toISOString(), problem];
    print(asJson ? JSON.stringify(deadLetter) : [...columns, ...(isReplayed ? ['to be sent again'] : [])].join('  '));
  }
}

interface ChangeTarget {
  readonly database: Database;
  readonly name: string;
  readonly cursor: ChangeCursor | undefined;
}

async function changeDeadLetters(
  action: string,
  { database, name, cursor }: ChangeTarget,
  print: PrintLine,
): Promise<void> {
  const {
    discardDead: discardDeadLetters,
    removeWebhook,
    replayDead: replayDeadLetters,
  } = await import('../../store/webhooks/hooks.ts');
  if (action === 'remove') {
    await removeWebhook(database, name);
    print(`${name} is removed`);
  } else if (action === 'replay') {
    print(`${String(await replayDeadLetters(database, name, cursor))} dead letters of ${name} will be sent again`);
  } else print(`${String(await discardDeadLetters(database, name, cursor))} dead letters of ${name} are discarded`);
}
