/**
 * `/changes?projection=NAME` of a running indexer: each row once and in order, refusals at the start, and how a stream
 * ends when the projection changes.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectionCommand } from '../../src/cli/projections/projection.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { waitFor } from '../support/wait-for.ts';
import { listen, type ReceivedEvents } from './listener.ts';
import { forwardedHeaders, TokenWorld, type Reader } from './token-world.ts';

const createdSql = `select e."offset", e.node_id, e.contract_id, e.template_fqn, p.party
  from explore.events e cross join unnest(e.parties) p (party)
 where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to`;
const bearer = ({ token }: Reader) => ({ ...forwardedHeaders, authorization: `Bearer ${token}` });

describe('GET /changes?projection', needs(limitsSkipReason), () => {
  let world: TokenWorld;
  let limited: Reader;
  let readRole: string;
  let folder: string;
  const listeners: ReceivedEvents[] = [];

  beforeAll(async () => {
    world = await TokenWorld.open();
    folder = mkdtempSync(join(tmpdir(), 'rows-'));
    readRole = await world.roleOfAll();
    const [party = ''] = await world.parties(1);
    limited = await world.reader(party);
    await project('add', 'created', createdSql);
    await project('add', 'created_by_party', createdSql, '--party-column', 'party');
  });
  afterAll(async () => {
    for (const listener of listeners) listener.close();
    rmSync(folder, { recursive: true });
    await world.close();
  });

  async function project(verb: string, name: string, sql?: string, ...options: readonly string[]): Promise<void> {
    const file = join(folder, `${randomBytes(4).toString('hex')}.sql`);
    if (sql !== undefined) writeFileSync(file, sql);
    const words = sql === undefined ? [verb, name] : [verb, name, '--sql', file, '--role', readRole, ...options];
    await runCommand(projectionCommand, words, { DATABASE_URL: world.history.database.url });
  }

  function follow(name: string, options: Parameters<typeof listen>[1] & { readonly after?: string } = {}) {
    const { after = '0', ...others } = options;
    const listener = listen(`${world.indexer.httpUrl}/changes?projection=${name}&after=${after}`, others);
    listeners.push(listener);
    return listener;
  }

  /** Rows of the view, as the role sees them. */
  async function viewRows(name: string, role?: string): Promise<readonly string[]> {
    const { url } = world.history.database;
    const rows = await query(
      role === undefined ? url : `${url}?options=-c%20role%3D${role}`,
      `select row_to_json(v)::text as json from ${name} v`,
    );
    return rows.map(({ json }) => String(json));
  }

  const rowsOf = ({ data }: ReceivedEvents): readonly string[] => data.map((row) => JSON.stringify(row)).sort();

  async function expectRows(listener: ReceivedEvents, expected: readonly string[]): Promise<void> {
    expect(expected.length).toBeGreaterThan(0);
    await waitFor(`${String(expected.length)} rows`, () => (listener.ids.length >= expected.length ? true : undefined));
    expect(rowsOf(listener)).toEqual(expected.map((json) => JSON.stringify(JSON.parse(json))).sort());
    const offsets = listener.data.map(({ offset }) => Number(offset));
    expect(offsets).toEqual(offsets.toSorted((left, right) => left - right));
    expect(new Set(listener.ids).size).toBe(listener.ids.length);
  }

  async function grow(updates: number): Promise<void> {
    world.history.grow(updates);
    await world.indexer.reaches(world.history.sandbox.ledger.ledgerEnd());
  }

  it('sends stored and computed rows, then the rows of each commit, once and in order', async () => {
    const listener = follow('created');
    await expectRows(listener, await viewRows('derived.created'));
    await grow(30);
    await expectRows(listener, await viewRows('derived.created'));
    const { ids } = listener;
    expect(ids.every((id) => /^\d+-\d+@[0-9a-f]{8}$/.test(id))).toBe(true);
    const middle = Math.floor(ids.length / 2);
    for (const resumed of [
      follow('created', { lastEventId: ids[middle] ?? '' }),
      follow('created', { after: ids[middle] ?? '' }),
    ]) {
      await waitFor('the rest', () => (resumed.ids.length >= ids.length - middle - 1 ? true : undefined));
      expect(resumed.ids).toEqual(ids.slice(middle + 1));
    }
  });

  it('sends the rows of a built-in projection', async () => {
    await expectRows(follow('ended_reward_coupons'), await viewRows('explore.ended_reward_coupons'));
  });

  it('sends a line with id and row to clients that accept NDJSON', async () => {
    const headers = { accept: 'application/x-ndjson' };
    const response = await fetch(`${world.indexer.httpUrl}/changes?projection=created&after=0`, { headers });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString('utf8');
      if (/\n\{.*\n/.test(text)) break;
    }
    const [line = '{}'] = text.split('\n').filter((each) => each !== '');
    expect(JSON.parse(line)).toEqual({
      id: expect.stringMatching(/^\d+-0@[0-9a-f]{8}$/) as string,
      row: expect.objectContaining({ node_id: expect.any(Number) as number }) as object,
    });
  });

  it('sends a reader limited to parties the rows that it sees in the view', async () => {
    const expected = await viewRows('derived.created_by_party', limited.role);
    expect(expected.length).toBeLessThan((await viewRows('derived.created_by_party')).length);
    await expectRows(follow('created_by_party', { headers: bearer(limited) }), expected);
    await expectRows(
      follow('ended_reward_coupons', { headers: bearer(limited) }),
      await viewRows('explore.ended_reward_coupons', limited.role),
    );
  });

  it.each([
    ['an unknown name', 'crated', 404, /there is no projection \\"crated\\"; did you mean created/],
    ['a name of JavaScript', 'constructor', 404, /expected one of created, .*token_transfers/],
    ['a name that is SQL', encodeURIComponent(`created"; select 1; --`), 404, /there is no projection/],
    ['sums', 'token_movements', 403, /sums of 5,000 offsets/],
    ['a projection and a template', 'created&template=a:b:c', 400, /cannot be combined/],
    ['a projection and a type of events', 'created&event_type=created', 400, /cannot be combined/],
  ])('refuses %s', async (_, name, status, message) => {
    const answer = await world.request(`/changes?projection=${name}`, {});
    expect({ status: answer.status, body: answer.body }).toEqual({
      status,
      body: expect.stringMatching(message) as string,
    });
  });

  it('refuses an id of a row for events', async () => {
    expect((await world.request('/changes?after=5-1@00000000', {})).status).toBe(400);
  });

  it('refuses a limited reader without a party column, and names only projections that it may read', async () => {
    const hidden = await world.request('/changes?projection=created', bearer(limited));
    expect(hidden.status).toBe(403);
    expect(JSON.parse(hidden.body)).toMatchObject({
      error: 'a reader limited to parties may not read projection created, because it has no party column',
      code: 'PROJECTION_REFUSED',
    });
    const unknown = await world.request('/changes?projection=crated', bearer(limited));
    expect(unknown.status).toBe(404);
    expect(unknown.body).not.toContain('did you mean created?');
    expect(unknown.body).toContain('created_by_party');
  });

  async function expectEnd(listener: ReceivedEvents, reason: string): Promise<void> {
    await waitFor(`the end: ${reason}`, () => (listener.ends.length > 0 ? true : undefined));
    expect(JSON.parse(listener.ends[0] ?? '')).toMatchObject({ reason });
  }

  it('continues while the same SELECT is stored again', async () => {
    const listener = follow('created');
    await expectRows(listener, await viewRows('derived.created'));
    await project('refill', 'created');
    await waitFor('the second version', async () => {
      const [row] = await world.sql(`select is_filled as filled from ledger.projections where name = 'created$2'`);
      return row?.['filled'] === true ? true : undefined;
    });
    await grow(5);
    await expectRows(listener, await viewRows('derived.created'));
    expect(listener.ends).toEqual([]);
  });

  it('ends with reason replaced when another SELECT is in use, and refuses the earlier ids', async () => {
    await project('add', 'changing', createdSql);
    const listener = follow('changing');
    await expectRows(listener, await viewRows('derived.changing'));
    await project('add', 'changing', createdSql.replace('e.template_fqn', `'another' as template_fqn`));
    await expectEnd(listener, 'replaced');
    await waitFor('the refused id', () => (listener.refused === 409 ? true : undefined));
    const after = encodeURIComponent(listener.ids.at(-1) ?? '');
    const answer = await world.request(`/changes?projection=changing&after=${after}`, {});
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 409,
      body: expect.stringContaining('is of another SELECT') as string,
    });
    // Pages are cached for three seconds, so the new stream begins at an offset at which none was read.
    const later = (json: string): boolean => (JSON.parse(json) as { readonly offset: number }).offset > 1;
    await expectRows(follow('changing', { after: '1' }), (await viewRows('derived.changing')).filter(later));
  });

  it('ends with reason refused when a limited reader loses its right', async () => {
    await project('add', 'narrowed', createdSql, '--party-column', 'party');
    const listener = follow('narrowed', { headers: bearer(limited) });
    await listener.begun;
    await project('add', 'narrowed', createdSql);
    await expectEnd(listener, 'refused');
  });

  it('ends with reason dropped', async () => {
    await project('add', 'dropped', createdSql);
    const listener = follow('dropped');
    await listener.begun;
    await project('drop', 'dropped');
    await expectEnd(listener, 'dropped');
    await waitFor('the refusal', () => (listener.refused === 404 ? true : undefined));
  });

  it('ends with reason failed when the SELECT fails', async () => {
    const failing = `select e."offset", 1 as one
      from explore.events e where e."offset" > :from and e."offset" <= :to`;
    await project('add', 'failing', failing);
    const listener = follow('failing');
    await listener.begun;
    // As if an event came that the SELECT cannot compute.
    await world.sql(
      `create or replace function derived."failing$1"(bigint, bigint) returns setof derived."failing$1" language plpgsql stable
         as $$ begin return query select 1::bigint, 1 / ($1 - $1)::integer; end $$`,
    );
    await grow(2);
    await expectEnd(listener, 'failed');
    await project('drop', 'failing');
  });

  it('ends with reason reset after history was rewound', async () => {
    const listener = follow('created');
    await expectRows(listener, await viewRows('derived.created'));
    const moveBack = (distance: number) =>
      world.sql(`update ledger.stream set checkpoint = checkpoint - ${String(distance)}`);
    await moveBack(5);
    await expectEnd(listener, 'reset');
    await moveBack(-5);
  });
});
