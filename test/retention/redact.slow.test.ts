/** Redaction removes contents permanently, from stored rows and from rows that are written again later. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoInterfaces } from '../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { digestOf } from '../support/digest.ts';
import { createRetentionWorld, type RetentionWorld } from './retention-world.ts';

let world: RetentionWorld;
const env = { LEDGER_CREATED_EVENT_BLOBS: 'true', LEDGER_INTERFACES: demoInterfaces.join(',') };
beforeAll(async () => {
  world = await createRetentionWorld(77, 600);
  await world.fill('a', env);
}, 120_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

/** The id of a contract with an interface view, which is archived or active as requested. */
async function contract(schema: string, isArchived: boolean): Promise<string> {
  const [row] = await world.query<{ id: string }>(
    `select l.contract_id as id from ${schema}.contracts c
       join ${schema}.lifetimes l on l.activated_offset = c."offset" and l.node_id = c.node_id
      where (l.deactivated_offset is not null) = $1 and c.payload is not null
        and exists (select from ${schema}.interface_views v where v."offset" = c."offset" and v.node_id = c.node_id)
      order by c."offset" desc, c.node_id desc limit 1`,
    [isArchived],
  );
  if (row === undefined) throw new Error('the history has no such contract');
  return row.id;
}

async function readContents(schema: string, id: string): Promise<unknown> {
  const [row] = await world.query(
    `select (select jsonb_agg(jsonb_build_array(payload, contract_key, created_event_blob)) from ${schema}.decoded_contracts
              where contract_id = $1) as contracts,
            (select jsonb_agg(jsonb_build_array(view, status_message)) from ${schema}.decoded_interface_views
              where contract_id = $1) as views,
            (select jsonb_agg(jsonb_build_array(argument, result)) from ${schema}.decoded_exercises
              where contract_id = $1) as exercises,
            (select array_agg(distinct x) from (
                select redaction_id from ${schema}.decoded_contracts where contract_id = $1
                union all select redaction_id from ${schema}.decoded_interface_views where contract_id = $1) y (x)) as redactions`,
    [id],
  );
  return row;
}

describe('redact', () => {
  it('removes payload, blob and views of an archived contract, and stores the reason', async () => {
    const id = await contract('a', true);
    const digestBefore = await digestOf(world.url, 'a');
    const plan = await world.redact('a', 'contract', id, '--reason', 'ticket 7');
    expect(plan).toMatchObject({ dryRun: true, contracts: 1, interfaceViews: 1, exercises: 0 });
    expect(await digestOf(world.url, 'a')).toBe(digestBefore);
    const redactOutput = await world.redact('a', 'contract', id, '--reason', 'ticket 7', '--yes');
    expect(redactOutput).toMatchObject({
      dryRun: false,
      contracts: 1,
      interfaceViews: 1,
      exercises: 0,
      finished: true,
    });
    const { redactionId } = redactOutput;
    expect(await readContents('a', id)).toMatchObject({
      contracts: [[null, null, null]],
      views: [[null, null]],
      redactions: [redactionId],
    });
    const [audit] = await world.query('select * from a.redactions where redaction_id = $1', [redactionId]);
    expect(audit).toMatchObject({ subject: 'contract', contract_id: id, reason: 'ticket 7', contracts: '1' });
    const secondRedaction = await world.redact('a', 'contract', id, '--reason', 'ticket 7', '--yes');
    expect(secondRedaction).toMatchObject({ contracts: 0, finished: true });
    expect(secondRedaction['redactionId']).toBeUndefined();
    const redactionOutput = await world.redact(
      'a',
      'contract',
      id,
      '--reason',
      'all of it',
      '--with-exercises',
      '--yes',
    );
    expect(Number(redactionOutput['exercises'])).toBeGreaterThan(0);
    for (const [argument, result] of ((await readContents('a', id)) as { exercises: unknown[][] }).exercises) {
      expect([argument, result]).toEqual([null, null]);
    }
  });

  it('refuses an active contract without --include-active', async () => {
    const id = await contract('a', false);
    await expect(world.redact('a', 'contract', id, '--reason', 'r', '--yes')).rejects.toMatchObject({
      code: 'REDACTION_REFUSED',
    });
    expect(await world.redact('a', 'contract', id, '--reason', 'r', '--include-active', '--yes')).toMatchObject({
      contracts: 1,
    });
    expect(await readContents('a', id)).toMatchObject({ contracts: [[null, null, null]] });
  });

  it('removes argument and result of one exercise', async () => {
    const [e] = await world.query<{ at: string; id: string }>(
      `select "offset" || ':' || node_id as at, contract_id as id from a.decoded_exercises
        where argument is not null order by 1 limit 1`,
    );
    const redactOutput = await world.redact('a', 'exercise', e?.at ?? '', '--reason', 'r', '--yes');
    expect(redactOutput).toMatchObject({ exercises: 1, contracts: 0 });
    const [row] = await world.query(
      `select argument, result, redaction_id from a.exercises where "offset" || ':' || node_id = $1`,
      [e?.at],
    );
    expect(row).toEqual({ argument: null, result: null, redaction_id: redactOutput['redactionId'] });
  });

  it('removes contents of archived contracts of a party, and skips active contracts', async () => {
    const [p] = await world.query<{ party: string; archived: number; active: number }>(
      `select party, count(*) filter (where gone)::int as archived, count(*) filter (where not gone)::int as active
         from (select distinct unnest(c.signatories || c.observers) as party, c.contract_id,
                      not exists (select from a.lifetimes l
                                   where l.contract_id = c.contract_id and l.deactivated_offset is null) as gone
                 from a.decoded_contracts c where c.redaction_id is null) x
        group by 1 having count(*) filter (where gone) > 5 and count(*) filter (where not gone) > 0
        order by 2, 1 limit 1`,
    );
    const party = p?.party ?? '';
    const plan = await world.redact('a', 'party', party, '--reason', 'left');
    expect(plan).toMatchObject({ contracts: p?.archived, skippedActive: p?.active });
    expect(await world.redact('a', 'party', party, '--reason', 'left', '--yes')).toMatchObject({
      contracts: p?.archived,
      skippedActive: p?.active,
    });
    expect(await world.redact('a', 'party', party, '--reason', 'left')).toMatchObject({ contracts: 0 });
  });

  it('leaves all views for readers usable', async () => {
    const views = await world.query<{ name: string }>(
      `select format('%I.%I', schemaname, viewname) as name from pg_views
        where schemaname in ('a_explore', 'a_pqs', 'a_typed', 'a')`,
    );
    expect(views.length).toBeGreaterThan(10);
    for (const { name } of views) await world.query(`select * from ${name}`);
    await world.query('set search_path = a_pqs');
    for (const call of ['active()', 'creates()', 'archives()', 'exercises()'])
      await world.query(`select * from ${call}`);
    await world.query('reset search_path');
  });

  it.each([
    [['contract', 'nobody', '--reason', 'r'], 'REDACTION_REFUSED'],
    [['contract', 'nobody'], 'USAGE'],
    [['exercise', '5', '--reason', 'r'], 'USAGE'],
    [['exercise', '999999:0', '--reason', 'r', '--yes'], 'REDACTION_REFUSED'],
    [['everything', 'x', '--reason', 'r'], 'USAGE'],
  ])('rejects %j', async (argv, code) => {
    await expect(world.redact('a', ...argv)).rejects.toMatchObject({ code });
  });
});

describe('redacted contents', () => {
  /** Number of rows of a schema that still have contents redacted in schema a. */
  const remainingSql = (schema: string): string => `
    select (select count(*)::int from ${schema}.decoded_contracts c join ${schema}.redacted_contracts r using (contract_id)
             where c.payload is not null or c.created_event_blob is not null
                or c.redaction_id is distinct from r.redaction_id) as contracts,
           (select count(*)::int from ${schema}.decoded_interface_views v join ${schema}.redacted_contracts r using (contract_id)
             where v.view is not null or v.redaction_id is distinct from r.redaction_id) as views,
           (select count(*)::int from ${schema}.decoded_exercises e
             where (e.argument is not null or e.redaction_id is null)
               and (exists (select from ${schema}.redacted_exercises r
                             where r."offset" = e."offset" and r.node_id = e.node_id)
                 or exists (select from ${schema}.redacted_contracts r
                             where r.contract_id = e.contract_id and r.exercises))) as exercises`;
  const zeroCounts = { contracts: 0, views: 0, exercises: 0 };

  /** Empties the tables of a schema as for a fresh start, and copies the redactions of schema a. */
  async function seedHistory(schema: string): Promise<void> {
    await world.fill(schema, env);
    for (const table of ['redactions', 'redacted_contracts', 'redacted_exercises']) {
      await world.query(`insert into ${schema}.${table} select * from a.${table}`);
    }
    await world.query(
      `truncate ${['updates', 'batches', 'contracts', 'live', 'ended', 'contract_parties', 'event_parties', 'exercises', 'archives', 'interface_views', 'reassignments', 'topology_events', 'active_counts', 'activity_hourly', 'coverage', 'stream'].map((t) => `${schema}.${t}`).join()}`,
    );
  }

  it('are not stored by a replay from genesis', async () => {
    await seedHistory('again');
    await world.fill('again', env);
    expect(await world.query(remainingSql('again'))).toEqual([zeroCounts]);
    const counts = `select (select count(*)::int from {}.contracts) as contracts, (select count(*)::int from {}.redactions) as redactions,
      (select count(*)::int from {}.contracts where redaction_id is not null) as redacted`;
    const [replayedCounts] = await world.query(counts.replaceAll('{}', 'again'));
    expect(replayedCounts).toEqual((await world.query(counts.replaceAll('{}', 'a')))[0]);
  });

  it('are not stored by a new seed', async () => {
    await seedHistory('seeded');
    await world.fill('seeded', { ...env, INDEXER_START: 'seed' });
    expect(await world.query(remainingSql('seeded'))).toEqual([zeroCounts]);
    const [row] = await world.query<{ redacted: number }>(
      'select count(*)::int as redacted from seeded.contracts where redaction_id is not null',
    );
    expect(row?.redacted).toBeGreaterThan(0);
  });

  it('are not stored by a running indexer with later events of the contract', async () => {
    await using indexer = await world.index('a', env);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const [busiestRow] = await world.query<{ party: string }>(
      `select c.signatories[1] as party from a.decoded_contracts c join a.lifetimes l using (contract_id)
        where l.deactivated_offset is null group by 1 order by count(*) desc, 1 limit 1`,
    );
    const end = world.sandbox.ledger.ledgerEnd();
    const argv = ['party', busiestRow?.party ?? '', '--reason', 'r', '--include-active', '--with-exercises', '--yes'];
    expect(Number((await world.redact('a', ...argv))['contracts'])).toBeGreaterThan(10);
    world.grow(300);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd(), 60_000);
    const [laterRow] = await world.query<{ exercises: number }>(
      `select count(*)::int as exercises from a.decoded_exercises e join a.redacted_contracts r using (contract_id)
        where e."offset" > $1`,
      [end],
    );
    expect(laterRow?.exercises).toBeGreaterThan(10);
    expect(await world.query(remainingSql('a'))).toEqual([zeroCounts]);
  });
});
