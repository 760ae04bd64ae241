/** Tests of the tools: two readers see exactly what SQL returns under their roles, and hostile payloads stay data. */
import { describe, expect, it } from 'vitest';
import { documentedQuery } from '../../../test/docs/documented.ts';
import { notice } from '../src/tools/result.ts';
import type { SdkClient } from './installed.ts';
import { hostileText, type McpSetup } from './setup.ts';
import { called, refused, type McpReader, type TextRow } from './world.ts';

export function describeTools(setup: () => McpSetup): void {
  describe('tool query', () => {
    it.each([
      'Every create and archive of a holding of a party',
      'Unlocked holdings of a party',
      'Traffic bought by a validator',
      'Every heartbeat of a validator',
      'Every transfer of Amulet',
      'Every purchase of traffic.',
      'Every validator once',
    ])('answers "%s" under two roles as SQL does', async (title) => {
      const statement = documentedQuery(title);
      const answers = new Map<McpReader, readonly TextRow[]>();
      const { clients, unlimited } = setup();
      for (const [reader, client] of [...clients, unlimited]) {
        const expected = answers.get(reader) ?? (await setup().world.sql(reader.role, statement));
        answers.set(reader, expected);
        const { data, complete: isComplete } = await called(client, 'query', { statement, max_rows: 1_000 });
        const rows = data['rows'] as readonly TextRow[];
        expect(rows).toEqual(expected.slice(0, rows.length));
        // Long answers are truncated, and say so.
        expect(isComplete).toBe(rows.length === expected.length);
        expect(rows.length).toBeGreaterThan(Math.min(expected.length, 100) - 1);
      }
      // Not every reader of one party sees rows of the network.
      expect(answers.get(unlimited[0])?.length).toBeGreaterThan(0);
    });

    it('returns other rows to each reader', async () => {
      const statement = 'select contract_id from explore.contracts order by 1 limit 500';
      const [one = [], two = []] = await Promise.all(
        setup().readers.map(({ role }) => setup().world.sql(role, statement)),
      );
      expect(one).not.toEqual(two);
      for (const [reader, client] of setup().clients) {
        const { data } = await called(client, 'query', { statement, max_rows: 1_000 });
        expect(data['rows']).toEqual(reader === setup().readers[0] ? one : two);
      }
    });

    it('cannot write, and returns the reason and the remedy', async () => {
      const [{ role }, client] = setup().first;
      for (const statement of [
        'create table agent (id int)',
        `update ledger.stream set epoch = 1`,
        `select 1; drop schema explore cascade`,
        `select set_config('role', 'none', true), (select count(*) from explore.contracts)`,
      ]) {
        const { isError, structuredContent } = await client.callTool({ name: 'query', arguments: { statement } });
        if (isError !== true) {
          const [[, count] = []] = structuredContent.data['rows'] as readonly TextRow[];
          expect([[count]]).toEqual(await setup().world.sql(role, 'select count(*) from explore.contracts'));
        } else
          expect(structuredContent.error).toMatchObject({
            code: 'QUERY_REFUSED',
            remedy: expect.any(String) as string,
          });
      }
    });

    it('cuts rows and bytes, and says so', async () => {
      const [, client] = setup().first;
      const statement = `select n, repeat('y', 100) from generate_series(1, 5000) n`;
      const few = await called(client, 'query', { statement, max_rows: 5 });
      expect(few.data['rows']).toHaveLength(5);
      expect(few).toMatchObject({
        complete: false,
        truncated: expect.stringContaining('more than 1000 rows') as string,
      });
      const many = await called(client, 'query', { statement, max_rows: 1_000 });
      expect(many.truncated).toMatch(/rows has the first \d+ of 1000 rows/);
      expect(Buffer.byteLength(JSON.stringify(many))).toBeLessThan(51_000);
    });
  });

  describe('tools of the API', () => {
    const limit = 1_000;

    /** Rows of the pages of a tool, as texts of these columns. */
    async function pages(
      client: SdkClient,
      name: string,
      args: object,
      columns: readonly string[],
    ): Promise<readonly TextRow[]> {
      const rows: TextRow[] = [];
      for (let cursor: object = {}; ;) {
        const { data, complete: isComplete } = await called(client, name, { ...args, limit, ...cursor });
        const page = data['rows'] as readonly Readonly<Record<string, unknown>>[];
        rows.push(...page.map((row) => columns.map((column) => textOf(row[column]))));
        const { next } = data;
        // Values that are too large are left out on any page.
        if (next !== null) expect(isComplete).toBe(false);
        if (typeof next !== 'string') return rows;
        cursor = { cursor: next };
      }
    }

    it.each([
      ['contracts', {}, 'contract_id,template_fqn,created_at_offset', 'from explore.active()', '3, 1'],
      [
        'contracts',
        { state: 'all' },
        'contract_id,created_at_offset,archived_at_offset',
        'from explore.contracts',
        '2, 1',
      ],
      ['balances', {}, 'owner,instrument_id,total', 'from explore.token_balances', '1, 2'],
      ['coverage', {}, 'from_offset,to_offset,status', 'from explore.coverage', '1'],
      [
        'diff',
        { from: '100', to: '900' },
        'template_fqn,before,created,archived,after',
        'from explore.diff(100, 900)',
        '1',
      ],
      [
        'diff_contracts',
        { from: '100', to: '900' },
        'contract_id,change',
        'from explore.diff_contracts(100, 900)',
        '1, 2',
      ],
    ] as const)('%s %j returns every row that SQL returns', async (name, args, columns, from, order) => {
      const list = columns.split(',').map((column) => (column === 'total' ? 'trim_scale(total)' : column));
      for (const [reader, client] of setup().clients) {
        const expected = await setup().world.sql(reader.role, `select ${list.join(', ')} ${from} order by ${order}`);
        expect(expected.length).toBeGreaterThan(0);
        const rows = await pages(client, name, args, columns.split(','));
        expect(rows.toSorted(byText)).toEqual(expected.toSorted(byText));
      }
    });

    it('explain and statement return what SQL returns', async () => {
      for (const [{ role, party }, client] of setup().clients) {
        const [[id] = []] = await setup().world.sql(
          role,
          'select contract_id from explore.active() order by created_at_offset limit 1',
        );
        const explained = await called(client, 'explain', { id });
        const { rows } = explained.data['history'] as { readonly rows: readonly Readonly<Record<string, unknown>>[] };
        expect(rows.map((row) => [String(row['offset']), row['event_type']])).toEqual(
          await setup().world.sql(role, `select "offset", event_type from explore.explain_contract('${String(id)}')`),
        );
        const statement = await called(client, 'statement', { party });
        const [[count] = []] = await setup().world.sql(role, `select count(*) from explore.token_journal('${party}')`);
        const found = statement.data['rows'] as readonly unknown[];
        const total =
          /rows has the first \d+ of (\d+) rows/.exec(statement.truncated ?? '')?.[1] ?? String(found.length);
        expect(Number(count)).toBeGreaterThan(10);
        expect(Number(total)).toBeGreaterThanOrEqual(Number(count));
      }
    });

    it('returns problems with the nearest names', async () => {
      const [, client] = setup().first;
      expect(await refused(client, 'contracts', { template: 'Amulett' })).toMatchObject({
        code: 'NAME_UNKNOWN',
        message: expect.stringContaining('Amulett') as string,
        nearest: expect.arrayContaining([expect.stringContaining('Amulet') as string]) as string[],
        remedy: expect.any(String) as string,
      });
      expect(await refused(client, 'diff', { from: '1' })).toMatchObject({ code: 'PARAMETER_INVALID' });
      expect(await refused(client, 'balances', { holder: 'x' })).toMatchObject({
        message: expect.stringContaining('known: ') as string,
      });
      expect(await refused(client, 'contracts', { template: { $ne: 1 } })).toMatchObject({ code: 'ARGUMENT_INVALID' });
      expect(await refused(client, 'delete', {})).toMatchObject({ code: 'TOOL_UNKNOWN' });
    });
  });

  it('schema lists views with comments, columns of one, and functions', async () => {
    const [, client] = setup().first;
    const { data, complete: isComplete } = await called(client, 'schema');
    expect(isComplete).toBe(true);
    const list = data['rows'] as readonly TextRow[];
    const names = new Set(list.map(([, , name]) => name));
    for (const name of ['token_balances', 'contracts', 'active_at', 'explain_update']) expect(names).toContain(name);
    expect(list.filter(([, , , , comment]) => comment === null)).toEqual([]);
    const columns = (await called(client, 'schema', { name: 'token_balances' })).data['rows'] as readonly TextRow[];
    expect(columns.map((row) => row[3])).toContain('instrument_id');
    expect(columns.every((row) => (row[5] ?? '') !== '')).toBe(true);
    const typed = (await called(client, 'schema', { contains: 'License' })).data['rows'] as readonly TextRow[];
    expect(typed.map(([, schema]) => schema)).toContain('typed');
    const functions = (await called(client, 'schema', { name: 'explore.diff' })).data['rows'] as readonly TextRow[];
    expect(functions[0]?.[4]).toContain('from_offset');
    expect(await refused(client, 'schema', { name: 'token_balance' })).toMatchObject({
      remedy: expect.stringContaining('contains') as string,
    });
    for (const name of [`x' or true --`, `x\\`, 'a.b.c']) {
      expect(await refused(client, 'schema', { name })).toMatchObject({ code: 'ARGUMENT_INVALID' });
    }
    expect(await refused(client, 'schema', { contains: `'` })).toMatchObject({ code: 'ARGUMENT_INVALID' });
  });

  describe('hostile payloads', () => {
    it('come back as data, with every hidden character as an escape', async () => {
      for (const [, client] of setup().clients) {
        const args = { template: 'sandbox-test:Keyed:Account' };
        const { content, structuredContent } = await client.callTool({ name: 'contracts', arguments: args });
        expect(structuredContent.notice).toBe(notice);
        const [{ text } = { text: '' }] = content;
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect(text).toContain(String.raw`\u001b[2J\u0007\u202e\udb40\udc73`);
        const rows = structuredContent.data['rows'] as readonly {
          readonly payload: { readonly number?: string } | null;
        }[];
        expect(rows.map(({ payload }) => payload?.number)).toContain(hostileText);
        expect(JSON.parse(text)).toEqual(structuredContent);
      }
    });

    it('of a large size are left out by name, and pages continue after them', async () => {
      const [, client] = setup().first;
      const args = { template: 'sandbox-test:Keyed:Account', limit: 1, sort: '-created_at_offset' };
      const page = await called(client, 'contracts', args);
      expect(page).toMatchObject({
        complete: false,
        truncated: expect.stringMatching(/null here: .*payload \(300\d+ bytes\)/) as string,
      });
      expect(page.data['rows']).toMatchObject([{ template_fqn: 'sandbox-test:Keyed:Account', payload: null }]);
      const next = await called(client, 'contracts', { ...args, cursor: page.data['next'] });
      expect(next.data['rows']).toMatchObject([{ payload: { number: hostileText } }]);
    });
  });
}

function textOf(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function byText(left: TextRow, other: TextRow): number {
  return JSON.stringify(left) < JSON.stringify(other) ? -1 : 1;
}
