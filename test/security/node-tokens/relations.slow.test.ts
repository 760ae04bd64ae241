/**
 * Users of the participant see the same rows of every table and view as a role of `grant-reader` with the same parties,
 * or with all.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../support/skips/needs.ts';
import { limitsSkipReason } from '../../support/skips/server-version.ts';
import { waitFor } from '../../support/wait-for.ts';
import { canReadAs, NodeWorld } from './world.ts';

const relationsSql = `select format('%I.%I', n.nspname, c.relname) as name from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync') and c.relkind in ('r', 'p', 'v') order by 1`;
const refused = 'refused';
/** A limited role may not read all columns of these tables, and gets no rows of the view. */
const partlyReadable = ['ledger.completion_ranges', 'ledger.stream', 'explore.traffic_runway'];

describe('a user of the participant', needs(limitsSkipReason), () => {
  let world: NodeWorld;
  let relations: readonly string[];
  beforeAll(async () => {
    world = await NodeWorld.open();
    await backgroundEnds();
    relations = (await world.sql(relationsSql)).map(({ name }) => String(name));
    expect(relations.length).toBeGreaterThan(80);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Typed views and projections are written in the background. */
  async function backgroundEnds(): Promise<void> {
    const written = (): Promise<unknown> =>
      world.sql(
        `select (select count(*) from ledger.typed_columns) as typed, array_agg(p::text order by p::text) as projected
           from ledger.projections p`,
      );
    let before: unknown;
    await waitFor('the end of background work', async () => {
      const now = JSON.stringify(await written());
      const isSame = now === before;
      before = now;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return isSame ? true : undefined;
    });
  }

  /** Number and contents of the rows, or {@link refused}. */
  const summaryOf = (relation: string): string =>
    `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as rows from ${relation} t`;

  async function ofRole(role: string): Promise<Readonly<Record<string, string>>> {
    const found: Record<string, string> = {};
    for (const relation of relations) {
      const rows = await world.sqlAs(role, summaryOf(relation)).catch(() => undefined);
      found[relation] = rows === undefined ? refused : String(rows[0]?.['rows']);
    }
    return found;
  }

  async function ofUser(token: string): Promise<Readonly<Record<string, string>>> {
    const found: Record<string, string> = {};
    for (const relation of relations) {
      const rows = await world.rows(token, summaryOf(relation)).catch(() => undefined);
      found[relation] = rows === undefined ? refused : String(rows[0]?.[0]);
    }
    return found;
  }

  it('sees what a role limited to the same parties sees', async () => {
    const parties = await world.parties(2);
    for (const list of [parties.slice(0, 1), parties]) {
      const token = await world.user(`user-of-${String(list.length)}`, ...list.map((party) => canReadAs(party)));
      const visible = await ofRole(await world.reader(...list));
      expect(await ofUser(token)).toEqual(visible);
      expect(Object.values(visible).filter((rows) => !/^0 |^refused$/.test(rows)).length).toBeGreaterThan(30);
    }
  });

  it('sees what a role that reads everything sees, with a right for any party', async () => {
    const token = await world.user('auditor', { kind: { CanReadAsAnyParty: { value: {} } } });
    const [ofAuditor, visible] = [await ofUser(token), await ofRole(await world.reader())];
    const different = relations.filter((relation) => ofAuditor[relation] !== visible[relation]);
    expect(different.filter((relation) => !partlyReadable.includes(relation))).toEqual([]);
  });

  it('sees no rows of parties without rights', async () => {
    const withoutRights = await ofUser(await world.user('user-without-rights'));
    for (const table of [
      'contracts',
      'live',
      'ended',
      'exercises',
      'archives',
      'updates',
      'interface_views',
      'completions',
    ]) {
      expect(withoutRights[`ledger.${table}`], table).toMatch(/^0 /);
    }
  });
});
