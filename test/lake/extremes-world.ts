/** Stores extreme values (largest, smallest, empty, unusual) and a typed view of them, for tests of Parquet readers. */
import { expect } from 'vitest';
import type { DamlType, PackageModel } from '../../src/daml/package-model.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { openSession } from '../../src/store/write/session.ts';
import { iou } from '../read/reader-attempts.ts';
import * as frames from '../support/frames.ts';
import { identity, type Schemas } from '../support/schemas.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { manifestOf } from './lake-world.ts';

const builtin = (name: 'int64' | 'text' | 'bool' | 'date' | 'timestamp' | 'party'): DamlType => ({
  kind: 'builtin',
  name,
});
const fields: Readonly<Record<string, DamlType>> = {
  ten: { kind: 'numeric', scale: 10 },
  none: { kind: 'numeric', scale: 0 },
  most: { kind: 'numeric', scale: 37 },
  whole: builtin('int64'),
  words: builtin('text'),
  truth: builtin('bool'),
  day: builtin('date'),
  moment: builtin('timestamp'),
  list: { kind: 'list', of: builtin('text') },
};
const model: PackageModel = {
  ...iou,
  dataTypes: {
    'Main.Iou:Iou': {
      kind: 'record',
      parameters: [],
      fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
    },
  },
};

const maxDigits = '9'.repeat(28);
export const payloads: readonly frames.JsonRecord[] = [
  {
    ten: `${maxDigits}.9999999999`,
    none: '9'.repeat(38),
    most: `9.${'9'.repeat(37)}`,
    whole: '9223372036854775807',
    words: 'ünïcode "quoted" \\ \u{1F600} \n tab\t; | ∅',
    truth: true,
    day: '9999-12-31',
    moment: '9999-12-31T23:59:59.999999Z',
    list: ['a', ''],
  },
  {
    ten: `-${maxDigits}.9999999999`,
    none: `-${'9'.repeat(38)}`,
    most: `-0.${'0'.repeat(36)}1`,
    whole: '-9223372036854775808',
    words: '',
    truth: false,
    day: '0001-01-01',
    moment: '0001-01-01T00:00:00Z',
    list: [],
  },
  {
    ten: '0.0000000001',
    none: '0',
    most: '0.0',
    whole: '9007199254740993',
    words: 'x'.repeat(100_000),
    day: '1969-12-31',
  },
  {},
];

export async function storeExtremes(schemas: Schemas): Promise<Database> {
  const database = await schemas.migrated('ledger');
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  for (const [index, createArgument] of payloads.entries()) {
    const offset = index + 1;
    const event = { offset, contractId: `00c${String(offset)}`, createArgument, observers: [], interfaceViews: [] };
    const batch = session.newBatch(index);
    batch.add(decodeUpdate(frames.text(frames.transaction(offset, [{ CreatedEvent: frames.created(event) }]))));
    await session.writeBatch(batch, index);
  }
  await storePackage(database, model);
  expect((await syncTypedViews(database, [model])).failed).toEqual([]);
  return database;
}

/** Expected texts of each row: the four numbers, the boolean, the time in microseconds since 1970, and the date. */
export const expectedRows = [
  [
    `${maxDigits}.9999999999`,
    '9'.repeat(38),
    `9.${'9'.repeat(37)}`,
    '9223372036854775807',
    'true',
    '253402300799999999',
    '9999-12-31',
  ],
  [
    `-${maxDigits}.9999999999`,
    `-${'9'.repeat(38)}`,
    `-0.${'0'.repeat(36)}1`,
    '-9223372036854775808',
    'false',
    '-62135596800000000',
    '0001-01-01',
  ],
  ['0.0000000001', '0', `0.${'0'.repeat(37)}`, '9007199254740993', null, null, '1969-12-31'],
  [null, null, null, null, null, null, null],
];

export function typedTable(path: string): string {
  const tableName = Object.keys(manifestOf(path).tables).find((name) => name.startsWith('typed.'));
  if (tableName === undefined) throw new Error('there is no typed table');
  return tableName;
}
