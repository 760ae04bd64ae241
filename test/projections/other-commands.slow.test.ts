/** Other commands know the projections that users add: `status --sizes`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SizeReport } from '../../src/cli/inspect/size-report.ts';
import { statusCommand } from '../../src/cli/inspect/status.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { transfersSql, UserWorld } from './user-world.ts';

let user: UserWorld;
beforeAll(async () => {
  user = await UserWorld.open(60);
  await user.add('transfers', transfersSql, '--key', 'node_id', '--index', 'sender', '--party-column', 'sender');
  await user.add('movements', transfersSql.replace('t.node_id, ', ''));
  await user.fill();
});
afterAll(() => user.close());

describe('status --sizes', () => {
  const sizes = async (): Promise<SizeReport> => {
    const lines: string[] = [];
    await runCommand(statusCommand, ['--sizes', '--json'], user.world.env(), { print: (line) => lines.push(line) });
    return JSON.parse(lines.join('')) as SizeReport;
  };

  it('has rows and bytes of projections of users in a group of their own', async () => {
    await query(user.url, 'vacuum (analyze)');
    const { groups, tables, indexes, bytes } = await sizes();
    const [expected] = await query(
      user.url,
      `select sum(pg_total_relation_size(c.oid))::float8 as total, sum(pg_indexes_size(c.oid))::float8 as indexes,
              (select count(*) from derived."transfers$1")::int + (select count(*) from derived."movements$1")::int as rows
         from pg_class c where c.relnamespace = 'derived'::regnamespace and c.relkind = 'r'`,
    );
    const group = groups.find((entry) => entry.group === 'user projections');
    expect(group).toMatchObject(expected ?? {});
    expect(group?.rows).toBeGreaterThan(0);
    expect(tables.filter((table) => table.group === 'user projections').map(({ table }) => table)).toEqual(
      expect.arrayContaining(['movements$1', 'transfers$1']),
    );
    expect(groups.reduce((sum, { total }) => sum + total, 0)).toBe(bytes.total);
    expect(indexes.reduce((sum, index) => sum + index.bytes, 0)).toBe(bytes.indexes);
    expect(bytes.elsewhere).toBe(bytes.database - bytes.total);
  });
});
