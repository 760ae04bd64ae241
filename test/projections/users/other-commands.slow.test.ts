/** Other commands know the projections that users add: `status --sizes`, `codegen` and `graphql`. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codegenCommand } from '../../../src/cli/inspect/codegen.ts';
import { graphqlCommand } from '../../../src/cli/inspect/graphql.ts';
import type { SizeReport } from '../../../src/cli/inspect/size-report.ts';
import { statusCommand } from '../../../src/cli/inspect/status.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { compileErrors } from '../../codegen/compiled.ts';
import type { HasuraMetadata } from '../../../packages/codegen/src/graphql/hasura.ts';
import type { SmartTags } from '../../../packages/codegen/src/graphql/smart-tags.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { transfersSql, UserWorld } from './world.ts';

const limited = `other_commands_${randomBytes(4).toString('hex')}`;
let user: UserWorld;
/** URL of a role that is limited to a party. It may read the view `transfers`, which has a party column. */
let limitedUrl: string;
beforeAll(async () => {
  user = await UserWorld.open(60);
  await user.add('transfers', transfersSql, '--key', 'node_id', '--index', 'sender', '--party-column', 'sender');
  await user.add('movements', transfersSql.replace('t.node_id, ', ''));
  await user.fill();
  if (limitsSkipReason !== undefined) return;
  const passwordFile = join(user.folder, 'password');
  writeFileSync(passwordFile, 'kept\n');
  const party = String((await user.world.row('select owner from explore.token_balances order by 1 limit 1'))['owner']);
  await runCommand(grantReaderCommand, [limited, '--party', party, '--password-file', passwordFile], user.world.env());
  const url = new URL(user.url);
  [url.username, url.password] = [limited, 'kept'];
  limitedUrl = url.href;
});
afterAll(async () => {
  await user.close();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${limited}`);
});

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

describe('codegen', () => {
  const codegen = async (url: string): Promise<string> => {
    let text = '';
    const write = (chunk: string): void => void (text += chunk);
    await runCommand(codegenCommand, ['--lang', 'ts'], { DATABASE_URL: url }, { write });
    return text;
  };
  const typeOf = (types: string): string => /'derived\.transfers': \{.*?\n {2}\};/s.exec(types)?.[0] ?? '';

  it('generates types of the views, with the comments of the user', async () => {
    await query(
      user.url,
      `comment on view derived.transfers is E'Transfers of the desk. */ export const injected = 1; /*\n*\u2028/';
       comment on column derived.transfers.day is 'Day in UTC'`,
    );
    await user.projection('refill', 'transfers');
    await user.fill();
    const types = await codegen(user.url);
    expect(typeOf(types).split('\n')).toEqual([
      "'derived.transfers': {",
      '    readonly offset: string;',
      '    readonly node_id: number | null;',
      '    readonly sender: string | null;',
      '    readonly receiver: string | null;',
      '    readonly instrument_id: string | null;',
      '    readonly amount: string | null;',
      '    /** Day in UTC */',
      '    readonly day: Date | null;',
      '  };',
    ]);
    expect(types).toContain('  /** Transfers of the desk. *\\/ export const injected = 1; /* *');
    const use = `import type { Kysely } from 'kysely';
      import type { DB } from './ledger.js';
      export const days = async (db: Kysely<DB>): Promise<(Date | null)[]> =>
        (await db.selectFrom('derived.transfers').select('day').where('offset', '>', '5').execute()).map(({ day }) => day);`;
    expect(await compileErrors({ 'ledger.ts': types, 'use.ts': use })).toBe('');
    const [row] = await query(user.url, 'select * from derived.transfers where node_id is not null limit 1');
    expect(row).toMatchObject({ amount: expect.any(String) as string, day: expect.any(Date) as Date });
  });

  it('omits views that the role may not read', needs(limitsSkipReason), async () => {
    const types = await codegen(limitedUrl);
    expect(typeOf(types)).not.toBe('');
    expect(types).not.toContain("'derived.movements'");
    expect(await codegen(user.url)).toContain("'derived.movements'");
  });
});

describe('graphql', () => {
  const documentOf = async (url: string, format: '--hasura' | '--postgraphile'): Promise<unknown> => {
    let text = '';
    const write = (chunk: string): void => void (text += chunk);
    await runCommand(graphqlCommand, [format], { DATABASE_URL: url }, { write });
    return JSON.parse(text);
  };
  const tagsOf = async (url: string): Promise<SmartTags['config']> =>
    ((await documentOf(url, '--postgraphile')) as SmartTags).config;

  it('has the views with key and relations, without their tables', async () => {
    const { class: classes } = await tagsOf(user.url);
    expect(classes['derived.transfers']?.tags).toMatchObject({
      name: 'derived_transfers',
      unique: ['offset,node_id'],
      foreignKey: [
        expect.stringMatching(/^\(offset\) references explore\.updates \(offset\)\|@fieldName update\|/),
        expect.stringMatching(/^\(offset, node_id\) references explore\.exercises .*\|@fieldName exercise\|/),
      ],
    });
    expect(classes['derived.movements']?.tags['unique']).toBeUndefined();
    expect(Object.keys(classes).filter((name) => name.startsWith('derived.'))).toEqual([
      'derived.movements',
      'derived.transfers',
    ]);
  });

  it('has no key while a new version with another key is being stored', async () => {
    await user.add(
      'movements',
      transfersSql.replace('t.node_id, ', ''),
      '--key',
      'sender,receiver,instrument_id,amount',
    );
    expect((await tagsOf(user.url)).class['derived.movements']?.tags['unique']).toBeUndefined();
    await user.fill();
    await user.projection('refill', 'movements');
    await user.fill();
    await user.projection('refill', 'movements');
    expect((await tagsOf(user.url)).class['derived.movements']?.tags['unique']).toEqual([
      'offset,sender,receiver,instrument_id,amount',
    ]);
    await user.fill();
  });

  it('tracks the views in Hasura, without the tables of versions', async () => {
    const { sources } = (await documentOf(user.url, '--hasura')) as HasuraMetadata;
    const tables = (sources[0]?.tables ?? []).filter(({ table }) => table.schema === 'derived');
    expect(tables.map(({ table }) => table.name)).toEqual(['movements', 'transfers']);
    const [, transfers] = tables;
    expect(transfers?.configuration.custom_name).toBe('derived_transfers');
    expect(transfers?.object_relationships.map(({ name }) => name)).toEqual(['update', 'exercise']);
    const edge = await query(
      user.url,
      `select count(*)::int as rows, count(u."offset")::int as met from derived.transfers t left join explore.updates u using ("offset")`,
    );
    expect(edge[0]?.['met']).toBe(edge[0]?.['rows']);
  });

  it('hides views that the role may not read', needs(limitsSkipReason), async () => {
    const { class: classes } = await tagsOf(limitedUrl);
    expect(classes['derived.transfers']?.tags['name']).toBe('derived_transfers');
    expect(classes['derived.movements']?.tags).toEqual({ behavior: ['-*'] });
    const { sources } = (await documentOf(limitedUrl, '--hasura')) as HasuraMetadata;
    expect(sources[0]?.tables.map(({ table }) => `${table.schema}.${table.name}`)).not.toContain('derived.movements');
  });
});
