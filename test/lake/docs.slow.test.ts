/** Runs the queries of docs/how-to/integrate/parquet-export.md over an export of a realistic history. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocksOf, pages } from '../docs/pages.ts';
import { createRetentionWorld, type RetentionWorld } from '../retention/retention-world.ts';
import { duck, exportTo, lakeDir, type LakeDir } from './lake-world.ts';

let world: RetentionWorld;
let dir: LakeDir;
beforeAll(async () => {
  world = await createRetentionWorld(22, 300);
  await world.fill('a');
  dir = lakeDir();
  await exportTo(dir.path, world.url, 'a');
}, 120_000);
afterAll(async () => {
  dir[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

const blocks = pages()
  .filter(({ path }) => path === 'docs/how-to/integrate/parquet-export.md')
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'duckdb');

it('the page about the Parquet export contains at least three DuckDB queries', () => {
  expect(blocks.length).toBeGreaterThanOrEqual(3);
});

it.each(blocks.map((block) => [`line ${String(block.line)}`, block.text] as const))(
  'the DuckDB query at %s returns rows',
  async (_, text) => {
    const activeSql = readFileSync(join(dir.path, 'active.sql'), 'utf8');
    const localDocText = text
      .replaceAll("read_parquet('", `read_parquet('${dir.path}/`)
      // Replaces `.read`, which is a command of the DuckDB shell.
      .replace(/^\.read active\.sql$/m, () => `set variable lake = '${dir.path}';\n${activeSql}`);
    expect((await duck(localDocText)).length).toBeGreaterThan(0);
  },
);
