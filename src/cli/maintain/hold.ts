/** `hold`: keeps history from being pruned while another consumer needs it. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { type Call, json, writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import type { Feature } from '../command-line/least-roles.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = `ledger-indexer hold list [--json]
  ledger-indexer hold place NAME [--after OFFSET] [--reason TEXT]
  ledger-indexer hold release NAME`;

export const holdCommand: Command = {
  name: 'hold',
  usage: 'list | place NAME [--after OFFSET] [--reason TEXT] | release NAME',
  summary: 'list, place, move or release retention holds, which block pruning',
  does: [
    'Without --after, all stored history is held. Holds apply to prune, INDEXER_RETENTION and the functions of pqs.',
  ],
  operands: [
    { name: 'ACTION', words: ['list', 'place', 'release'] },
    { name: 'NAME', optional: true },
  ],
  flags: [
    { name: 'after', value: 'OFFSET', doc: 'hold history after this offset' },
    { name: 'reason', value: 'TEXT', doc: 'reason, printed by list' },
    json,
  ],
  examples: ['hold place replica-2 --reason "copy under way"', 'hold list', 'hold release replica-2'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/prune.md#hold-history',
  /** @throws IndexerError USAGE, HOLD_REFUSED, HOLD_NOT_FOUND, STORE_NOT_PERMITTED */
  run: async ({ args, env, print }) => {
    const action = actionOf(args);
    const openOptions = { command: 'hold', feature: featureOf(args.operands[0]) };
    await withDatabase(loadConfig(env, args.options), openOptions, (database) => action(database, print));
  },
};

function featureOf(action: string | undefined): Feature {
  if (action === 'list') return 'hold list';
  return action === 'place' ? 'hold place' : 'hold release';
}

type Action = (database: Database, print: PrintLine) => Promise<void>;

function actionOf(args: Call['args']): Action {
  const [action, name, ...extraArguments] = args.operands;
  const [after, reason] = [args.text('after'), args.text('reason')];
  if (extraArguments.length > 0) throw usageError('hold takes one name', usage);
  if (after !== undefined && !/^\d{1,16}$/.test(after)) throw usageError('--after takes an offset', usage);
  if (action !== 'place' && (after !== undefined || reason !== undefined)) {
    throw usageError('--after and --reason are flags of hold place', usage);
  }
  if (action === 'list') {
    if (name !== undefined) throw usageError('hold list takes no name', usage);
    return (database, print) => list(database, args.has('json'), print);
  }
  if (name === undefined || !/^[\w.:-]{1,100}$/.test(name)) {
    throw usageError('hold needs a name of letters, digits and . _ : -, at most 100 characters', usage);
  }
  if (action === 'release') return (database, print) => release(database, name, print);
  const hold = { name, offset: after === undefined ? undefined : Number(after), reason: reason ?? null };
  return async (database, print) => {
    const { placeHold } = await import('../../store/retention/holds.ts');
    print(`${name} holds history after offset ${String(await placeHold(database, hold))}`);
  };
}

async function list(database: Database, asJson: boolean, print: PrintLine): Promise<void> {
  const { listHolds } = await import('../../store/retention/holds.ts');
  const holds = await listHolds(database);
  if (!asJson && holds.length === 0) print('there are no holds');
  for (const hold of holds) {
    if (asJson) print(JSON.stringify(hold));
    else {
      const { name, offset, since, reason } = hold;
      print(`${name}  after ${String(offset)}  since ${since.toISOString()}${reason === null ? '' : `  ${reason}`}`);
    }
  }
}

async function release(database: Database, name: string, print: PrintLine): Promise<void> {
  const { releaseHold } = await import('../../store/retention/holds.ts');
  if (!(await releaseHold(database, name))) {
    throw new IndexerError(`there is no hold ${name}`, { code: 'HOLD_NOT_FOUND' });
  }
  print(`hold ${name} is released`);
}
