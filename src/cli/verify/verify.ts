/**
 * `verify`: checks the tables against their invariants, and compares them with the ledger's active contracts and
 * updates. It reads one snapshot, writes only its result, and may run while an indexer writes.
 */
import { loadConfig } from '../../config/config.ts';
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import type { VerifyArguments } from './compare.ts';

const usage =
  '[--invariants] [--tokens] [--projections [RANGES]] [--tail N] [--acs [--at OFFSET]] [--range FIRST LAST] [--json [FILE]] | --account-statement FILE';

export const verifyCommand: Command = {
  name: 'verify',
  usage,
  summary: 'check the tables against their invariants and the ledger',
  does: ['Without a selection: checks the invariants, the newest 1000 updates and the active contracts.'],
  operands: [],
  flags: [
    { name: 'invariants', doc: 'check the invariants of the tables' },
    { name: 'tokens', doc: 'compare logs of token admins with holdings; reads all token history' },
    {
      name: 'projections',
      value: '[RANGES]',
      doc: 'compare stored rows of projections with their SELECTs: all, or RANGES ranges of 1,000 updates',
    },
    { name: 'tail', value: 'N', doc: 'compare the newest N updates with the ledger' },
    { name: 'acs', doc: 'compare the active contracts with the ledger' },
    { name: 'at', value: 'OFFSET', doc: 'with --acs: at this offset; default the checkpoint' },
    { name: 'range', value: 'FIRST LAST', doc: 'compare the updates of these offsets with the ledger' },
    {
      name: 'account-statement',
      value: 'FILE',
      doc: 'compare only the output of `account-statement --json`',
    },
    { name: 'json', value: '[FILE]', doc: 'print the report as JSON, to FILE or standard output' },
  ],
  examples: [
    'verify',
    'verify --invariants',
    'verify --acs --at 120000 --json report.json',
    'verify --account-statement alice.json',
  ],
  exits: [
    [0, 'equal'],
    [1, 'a difference was found'],
    [2, 'undecided'],
  ],
  page: 'docs/how-to/run/verify.md',
  /** @throws IndexerError USAGE, CONFIGURATION_INVALID, or the reason why there is nothing to compare */
  run: async (call) => {
    const file = call.args.text('account-statement');
    if (file !== undefined) {
      const { verifyAccountStatement } = await import('./account-statement.ts');
      return verifyAccountStatement(file, loadConfig(call.env, call.args.options), call.print);
    }
    const args = verifyArguments(call.args);
    const config = loadConfig(call.env, call.args.options);
    const { compare } = await import('./compare.ts');
    return compare(args, config, call);
  },
};

/** Number of updates that `verify` compares if no comparison is selected. */
const defaultTail = 1_000;

/** @throws IndexerError USAGE */
export function verifyArguments(args: Args): VerifyArguments {
  const [invariants, tokens, acs] = [args.has('invariants'), args.has('tokens'), args.has('acs')];
  const [tail] = offsets(args, 'tail');
  const [offset] = offsets(args, 'at');
  const [first, last] = offsets(args, 'range');
  if (offset !== undefined && !acs) throw commandUsageError('--at needs --acs');
  const projections: VerifyArguments['projections'] = args.has('projections')
    ? (offsets(args, 'projections')[0] ?? 'all')
    : undefined;
  const json = args.has('json') ? (args.text('json') ?? '-') : undefined;
  const range: readonly [number, number] | undefined =
    first === undefined || last === undefined ? undefined : [first, last];
  const hasChosenKind =
    invariants || tokens || acs || [projections, tail, range].some((selection) => selection !== undefined);
  const commonArgs = { tokens, projections, at: offset, range, json };
  return hasChosenKind
    ? { invariants, acs, tail, ...commonArgs }
    : { invariants: true, acs: true, tail: defaultTail, ...commonArgs };
}

/** Non-negative integers after a flag; empty without the flag. */
function offsets(args: Args, flag: string): readonly number[] {
  const rangeTexts = args.texts(flag);
  return rangeTexts.map((argument) => {
    const number = /^\d{1,16}$/.test(argument) ? Number(argument) : Number.NaN;
    if (Number.isSafeInteger(number)) return number;
    throw commandUsageError(
      `--${flag} takes ${rangeTexts.length === 1 ? 'an integer' : `${String(rangeTexts.length)} offsets`}`,
    );
  });
}

function commandUsageError(message: string): IndexerError {
  return usageError(message, `ledger-indexer verify ${usage}`);
}
