/**
 * Compares generated types with the demo. The types compile, the rows of the demo fit them, and columns that are marked
 * as never null contain no null. Part of test/read/demo/demo-queries.long.test.ts, which indexes the demo.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codegenCommand } from '../../src/cli/inspect/codegen.ts';
import { neverNullColumns } from '../../packages/codegen/src/typescript/never-null.ts';
import type { DemoDatabase } from '../read/demo/demo-history.ts';
import { runCommand } from '../support/run-command.ts';
import { compileErrors } from './compiled.ts';
import { declaredColumns, readViews, rowsOfViews, type ViewRows } from './nulls.ts';
import { literal } from './row-literals.ts';

async function codegen(url: string): Promise<string> {
  let text = '';
  const write = (chunk: string): void => void (text += chunk);
  await runCommand(codegenCommand, ['--lang', 'ts'], { DATABASE_URL: url }, { write });
  return text;
}

/** A program that contains sample rows of each view as values of the generated type. */
function program(views: readonly ViewRows[]): string {
  const lines = views.map(
    ({ view, sample }, index) =>
      `export const rows${String(index)}: DB['${view}'][] = [${sample.map(literal).join(',\n')}];`,
  );
  return ["import type { DB } from './ledger.js';", ...lines].join('\n');
}

/** @param demo returns the database after the demo is indexed */
export function describeGeneratedTypes(demo: () => DemoDatabase): void {
  describe('codegen for the demo', () => {
    /** A connection with default settings, as programs open it. */
    let client: Client;
    let types: string;
    let views: readonly ViewRows[];
    beforeAll(async () => {
      const { url } = demo();
      client = new Client({ connectionString: url });
      await client.connect();
      types = await codegen(url);
      views = await rowsOfViews(client);
    });
    afterAll(() => client.end());
    it('generates the same types on every run, and all sample rows match the types', async () => {
      const rows = program(views);
      // The samples contain names of templates, which depend on the demo.
      expect(rows).toContain('"splice-amulet:Splice.');
      expect(await compileErrors({ 'ledger.ts': types, 'rows.ts': rows })).toBe('');
      expect(await codegen(demo().url)).toBe(types);
    });

    it('generates types for Kysely queries and for contract payloads', async () => {
      const usageSource = `
      import type { Kysely } from 'kysely';
      import type { ContractOf, DB, Interfaces } from './ledger.js';
      export async function amounts(db: Kysely<DB>, owner: string): Promise<readonly { id: string; amount: string }[]> {
        const rows = await db.selectFrom('typed.splice_amulet__amulet').select(['contract_id', 'amount_initial_amount'])
          .where('owner', '=', owner).execute();
        return rows.map((row) => ({ id: row.contract_id, amount: row.amount_initial_amount }));
      }
      export function initial({ payload }: ContractOf<'splice-amulet:Splice.Amulet:Amulet'>): string {
        return payload.amount.initialAmount;
      }
      export function owner({ account }: Interfaces['splice-api-token-holding-v2:Splice.Api.Token.HoldingV2:Holding']['view']): string {
        return account.owner ?? '';
      }
      export async function wrong(db: Kysely<DB>): Promise<void> {
        // @ts-expect-error there is no such column
        await db.selectFrom('typed.splice_amulet__amulet').select('amount_initial').execute();
        // @ts-expect-error an offset is text, as the driver gives it
        await db.selectFrom('explore.updates').selectAll().where('offset', '>', 5).execute();
      }`;
      expect(await compileErrors({ 'ledger.ts': types, 'use.ts': usageSource })).toBe('');
    });

    it('marks only columns without nulls as never null, and over 75% of these columns', async () => {
      const { never: neverNull, nullable } = declaredColumns(types);
      const countedColumns = views.flatMap(({ columns }) => columns);
      expect(countedColumns.filter(({ column, nulls }) => nulls > 0 && neverNull.has(column))).toEqual([]);
      expect(
        countedColumns.map(({ column }) => column).filter((column) => !neverNull.has(column) && !nullable.has(column)),
      ).toEqual([]);
      const filled = countedColumns.filter(({ rows, nulls }) => rows > 0 && nulls === 0);
      const filledColumns = filled.filter(({ column }) => neverNull.has(column));
      console.log(
        `${String(neverNull.size)} of ${String(countedColumns.length)} columns are never null; of ${String(filled.length)} without null in the demo, ${String(filledColumns.length)}`,
      );
      expect(filledColumns.length / filled.length).toBeGreaterThan(0.75);
    });

    it('marks every column as never null that the Postgres planner proves to be never null', async () => {
      const { rows } = await client.query<{ version: number }>(
        "select current_setting('server_version_num')::int as version",
      );
      if ((rows[0]?.version ?? 0) < 170_000) {
        process.stdout.write('columns that are never null are not proven: the planner of Postgres 17 does that\n');
        return;
      }
      const neverNull = new Set(neverNullColumns());
      const undeclaredColumns: string[] = [];
      for (const { view, columns } of (await readViews(client)).filter(({ view }) => !view.startsWith('typed.'))) {
        for (const column of columns.filter((name) => !neverNull.has(`${view}.${name}`))) {
          const plan = await client.query<{ 'QUERY PLAN': string }>(
            `explain select from ${view} v where v."${column}" is null`,
          );
          if (plan.rows.length === 2 && plan.rows[1]?.['QUERY PLAN'].trim() === 'One-Time Filter: false')
            undeclaredColumns.push(`${view}.${column}`);
        }
      }
      expect(undeclaredColumns).toEqual([]);
      const existingColumns = new Set(views.flatMap(({ columns }) => columns.map(({ column }) => column)));
      expect([...neverNull].filter((column) => !existingColumns.has(column))).toEqual([]);
    });

    it('allows null in contents after a redaction', async () => {
      const neverColumns = declaredColumns(types).never;
      await client.query(
        "insert into ledger.redactions (redaction_id, subject, reason, requested_by) values ('r', 'party', 'a test', 'test')",
      );
      const { never: neverNull } = declaredColumns(await codegen(demo().url));
      await client.query("delete from ledger.redactions where redaction_id = 'r'");
      const lostColumns = [...neverColumns].filter((column) => !neverNull.has(column));
      expect(lostColumns).toEqual(
        expect.arrayContaining(['explore.contracts.payload', 'typed.splice_amulet__amulet.owner']),
      );
      expect(neverNull).toContain('typed.splice_amulet__amulet.contract_id');
    });
  });
}
