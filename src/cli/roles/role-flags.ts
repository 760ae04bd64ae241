/** Flags that several commands about roles have. */
import type { CommandFlag, Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';

export const sharedDatabase: CommandFlag = {
  name: 'shared-database',
  doc: 'do not change rights of other users of this database',
};

export const connections: CommandFlag = {
  name: 'connections',
  value: 'N',
  doc: 'connection limit of the reader; default for a new role 20',
};

/** @throws IndexerError USAGE */
export function connectionsOf(args: Args): number | undefined {
  const text = args.text('connections');
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw usageError(`--connections takes a number from 1 to 99999, found "${text.slice(0, 20)}"`, '--connections 20');
}
