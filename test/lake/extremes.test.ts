/** The largest, the smallest, the empty and the odd: what engines read from the files is what the ledger sent, to the last digit. */
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DamlType, PackageModel } from '../../src/daml/package-model.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { openSession } from '../../src/store/write/session.ts';
import { iou } from '../read/reader-attempts.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import * as frames from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';
import { duck, exportTo, lakeDir, manifestOf, type LakeDir } from './lake-world.ts';

const schemas = schemasOfFile();

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

const nines = '9'.repeat(28);
const payloads: readonly frames.JsonRecord[] = [
  {
    ten: `${nines}.9999999999`,
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
    ten: `-${nines}.9999999999`,
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

const stop = new AbortController().signal;

let database: Database;
let grown: LakeDir;
afterAll(() => grown[Symbol.dispose]());
beforeAll(async () => {
  database = await schemas.migrated('ledger');
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  for (const [at, createArgument] of payloads.entries()) {
    const offset = at + 1;
    const event = { offset, contractId: `00c${String(offset)}`, createArgument, observers: [], interfaceViews: [] };
    const batch = session.newBatch(at);
    batch.add(decodeUpdate(frames.text(frames.transaction(offset, [{ CreatedEvent: frames.created(event) }]))));
    await session.writeBatch(batch, at);
  }
  await storePackage(database, model);
  expect((await syncTypedViews(database, [model])).failed).toEqual([]);
  grown = lakeDir();
  await exportTo(grown.path, schemas.url, 'ledger', '--until', '2', '--views', 'typed.*');
  await exportTo(grown.path, schemas.url, 'ledger');
});

/** Values of each row as texts, without trailing zeros of decimals; times in microseconds since 1970. */
const wanted = [
  [
    `${nines}.9999999999`,
    '9'.repeat(38),
    `9.${'9'.repeat(37)}`,
    '9223372036854775807',
    'true',
    '253402300799999999',
    '9999-12-31',
  ],
  [
    `-${nines}.9999999999`,
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

/** What DuckDB reads from the typed table. */
async function readTyped(path: string): Promise<readonly Record<string, unknown>[]> {
  const table = 'typed.iou__iou' in manifestOf(path).tables ? 'typed.iou__iou' : typedTable(path);
  return await duck(
    `select ten::varchar as ten, none::varchar as none, most::varchar as most, whole::varchar as whole, truth::varchar as truth,
            epoch_us(moment)::varchar as moment, day::varchar as day, words, list
       from read_parquet('${path}/${table}/*.parquet') order by created_at_offset`,
  );
}

function expectAll(rows: readonly Record<string, unknown>[]): void {
  expect(
    rows.map(({ ten, none, most, whole, truth, moment, day }) => [ten, none, most, whole, truth, moment, day]),
  ).toEqual(wanted);
  expect(rows.map(({ words }) => words)).toEqual(payloads.map(({ words }) => words ?? null));
  expect(rows.map(({ list }) => list)).toEqual(['["a", ""]', '[]', null, null]);
}

it('DuckDB reads them from the files', async () => {
  using dir = lakeDir();
  await exportTo(dir.path, schemas.url, 'ledger', '--views', 'typed.*');
  expectAll(await readTyped(dir.path));
  const contracts = await duck(
    `select observers, signatories, payload, contract_key from read_parquet('${dir.path}/contracts/*.parquet') order by created_at_offset`,
  );
  expect(contracts.map(({ observers }) => observers)).toEqual([[], [], [], []]);
  expect(contracts.map(({ signatories }) => signatories)).toEqual(payloads.map(() => [frames.alice]));
  expect(contracts.map(({ payload }) => JSON.parse(String(payload)) as unknown)).toEqual(payloads);
  expect(contracts.every((row) => row['contract_key'] === null)).toBe(true);
});

function typedTable(path: string): string {
  const found = Object.keys(manifestOf(path).tables).find((name) => name.startsWith('typed.'));
  if (found === undefined) throw new Error('there is no typed table');
  return found;
}

it('they are the same in a file that was written anew without what was redacted', async () => {
  using dir = lakeDir();
  await exportTo(dir.path, schemas.url, 'ledger', '--views', 'typed.*');
  await prune(database, { offset: 4 }, { stop });
  const subject = { kind: 'contract', contractId: '00c4' } as const;
  await redact(database, { subject, reason: 'r', active: true, exercises: false }, stop);
  await exportTo(dir.path, schemas.url, 'ledger');
  const { files } = manifestOf(dir.path);
  expect(files.find(({ table }) => table === typedTable(dir.path))?.path).toMatch(/\.r2\.parquet$/);
  expectAll(await readTyped(dir.path));
});

const python = process.env['LAKE_PYTHON'] ?? 'python3';
const reader = fileURLToPath(new URL('read-lake.py', import.meta.url));

interface ReadByPython {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly words: readonly (string | null)[];
  readonly lists: readonly (string | null)[];
  /** Signatories and observers. */
  readonly parties: readonly (readonly [readonly string[], readonly string[]])[];
}

/** By which engine of another language, and as what. Each module it takes is named where it is not there. */
const engines = [
  ['delta-rs', 'one table of Delta Lake', 'deltalake, pyarrow'],
  ['arrow', 'files', 'pyarrow'],
  ['clickhouse', 'one table of Delta Lake', 'chdb'],
  ['clickhouse', 'files', 'chdb'],
  ['spark', 'files', 'pyspark'],
  ['spark', 'one table of Delta Lake', 'pyspark'],
] as const;

/** Spark reads Delta Lake with jars that are not its own: delta-spark and delta-storage of its version, separated by commas. */
const sparkJars = process.env['LAKE_SPARK_JARS'] ?? '';

describe.each(engines)('%s reads them as %s', (engine, form, modules) => {
  const lacksJars = engine === 'spark' && form !== 'files' && sparkJars === '';
  const isThere = !lacksJars && spawnSync(python, ['-c', `import ${modules}`]).status === 0;
  const why = lacksJars
    ? 'LAKE_SPARK_JARS names no jars of Delta Lake'
    : `${python} has no ${modules} (LAKE_PYTHON names another)`;
  if (!isThere) process.stdout.write(`${engine} not asked for ${form}: ${why}\n`);

  it.skipIf(!isThere)('before and after a second export', { timeout: 180_000 }, () => {
    const args = [reader, engine, form === 'files' ? 'files' : 'delta', grown.path, typedTable(grown.path)];
    const text = execFileSync(python, args, {
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
      // A Spark that starts on a busy machine takes more than a minute.
      timeout: 170_000,
      cwd: grown.path,
    });
    const { rows, words, lists, parties } = JSON.parse(text) as ReadByPython;
    expect(rows).toEqual(wanted.map((row) => row.map((value) => value?.replace(/\.0+$/, '') ?? null)));
    expect(words).toEqual(payloads.map((payload) => payload['words'] ?? null));
    expect(lists).toEqual(['["a", ""]', '[]', null, null]);
    expect(parties).toEqual(payloads.map(() => [[frames.alice], []]));
  });
});
