/** DuckDB reads extreme values from the files as the ledger sent them, to the last digit. */
import { beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/store/connection/database.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { redact } from '../../src/store/retention/redact.ts';
import * as frames from '../support/frames.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { payloads, storeExtremes, typedTable, expectedRows } from './extremes-world.ts';
import { duck, exportTo, lakeDir, manifestOf } from './lake-world.ts';

const schemas = schemasOfFile();
const stop = new AbortController().signal;

let database: Database;
beforeAll(async () => {
  database = await storeExtremes(schemas);
});

/** Rows of the typed table, read by DuckDB. */
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
    rows.map(
      ({ ten, none: noneValue, most: mostValue, whole: wholeNumber, truth: booleanValue, moment: timestamp, day }) => [
        ten,
        noneValue,
        mostValue,
        wholeNumber,
        booleanValue,
        timestamp,
        day,
      ],
    ),
  ).toEqual(expectedRows);
  expect(rows.map(({ words }) => words)).toEqual(payloads.map(({ words }) => words ?? null));
  expect(rows.map(({ list }) => list)).toEqual(['["a", ""]', '[]', null, null]);
}

it('DuckDB reads extreme values from an export', async () => {
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

it('export keeps extreme values in a file that it rewrites after a redaction', async () => {
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
