/** Flags that several commands for roles have. */
import type { CommandFlag, Given } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';

export const sharedDatabase: CommandFlag = {
  name: 'shared-database',
  doc: 'others use this database too: leave their rights alone',
};

export const connections: CommandFlag = {
  name: 'connections',
  value: 'N',
  doc: 'most connections of the reader at a time; a new role: 20',
};

/** @throws IndexerError USAGE */
export function connectionsOf(given: Given): number | undefined {
  const text = given.text('connections');
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw misuse(`--connections takes a number from 1 to 99999, found "${text.slice(0, 20)}"`, '--connections 20');
}
