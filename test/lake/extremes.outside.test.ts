/** Query engines in other languages read extreme values from the files as the ledger sent them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../support/frames.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { payloads, storeExtremes, typedTable, expectedRows } from './extremes-world.ts';
import { exportTo, lakeDir, type LakeDir } from './lake-world.ts';

const schemas = schemasOfFile();

let grownDir: LakeDir;
beforeAll(async () => {
  await storeExtremes(schemas);
  grownDir = lakeDir();
  await exportTo(grownDir.path, schemas.url, 'ledger', '--until', '2', '--views', 'typed.*');
  await exportTo(grownDir.path, schemas.url, 'ledger');
});
afterAll(() => grownDir[Symbol.dispose]());

const python = process.env['LAKE_PYTHON'] ?? 'python3';
const reader = fileURLToPath(new URL('read-lake.py', import.meta.url));

interface ReadByPython {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly words: readonly (string | null)[];
  readonly lists: readonly (string | null)[];
  /** Signatories and observers of each contract. */
  readonly parties: readonly (readonly [readonly string[], readonly string[]])[];
}

/** Engine, format that it reads, and Python modules that it needs. */
const engines = [
  ['delta-rs', 'a Delta Lake table', 'deltalake, pyarrow'],
  ['arrow', 'files', 'pyarrow'],
  ['clickhouse', 'a Delta Lake table', 'chdb'],
  ['clickhouse', 'files', 'chdb'],
  ['spark', 'files', 'pyspark'],
  ['spark', 'a Delta Lake table', 'pyspark'],
] as const;

/** Spark reads Delta Lake with separate jars: delta-spark and delta-storage of its version, separated by commas. */
const sparkJars = process.env['LAKE_SPARK_JARS'] ?? '';

describe.each(engines)('%s on %s', (engine, form, modules) => {
  const lacksJars = engine === 'spark' && form !== 'files' && sparkJars === '';
  const isInstalled = !lacksJars && spawnSync(python, ['-c', `import ${modules}`]).status === 0;
  const reason = lacksJars ? 'needs the jars of Delta Lake (LAKE_SPARK_JARS)' : `needs ${modules} (LAKE_PYTHON)`;
  const options = { timeout: 180_000, ...needs(isInstalled ? undefined : reason) };

  it('reads extreme values from two exports', options, () => {
    const args = [reader, engine, form === 'files' ? 'files' : 'delta', grownDir.path, typedTable(grownDir.path)];
    const text = execFileSync(python, args, {
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
      // Spark needs more than a minute to start on a busy machine.
      timeout: 170_000,
      cwd: grownDir.path,
    });
    const { rows, words, lists, parties } = JSON.parse(text) as ReadByPython;
    expect(rows).toEqual(expectedRows.map((row) => row.map((value) => value?.replace(/\.0+$/, '') ?? null)));
    expect(words).toEqual(payloads.map((payload) => payload['words'] ?? null));
    expect(lists).toEqual(['["a", ""]', '[]', null, null]);
    expect(parties).toEqual(payloads.map(() => [[frames.alice], []]));
  });
});
