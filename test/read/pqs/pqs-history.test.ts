/**
 * Further queries of public PQS applications: ranges, exercises, summaries, offsets, and tables that explorers query.
 * Each query runs on both search paths.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alice, bob } from '../../support/frames.ts';
import { queryBothPaths, timeOf, writePqsHistory } from './pqs-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await writePqsHistory(database);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

async function rows(sql: string, ...values: unknown[]): Promise<readonly Record<string, unknown>[]> {
  return await queryBothPaths(database, sql, values);
}
/** The first column of all rows. */
async function column(sql: string, ...values: unknown[]): Promise<readonly unknown[]> {
  return (await rows(sql, ...values)).map((row) => Object.values(row)[0]);
}

describe('PQS queries of history', () => {
  it('return creates, archives and active contracts up to an offset (#19)', async () => {
    const token = 'DA.Register:Token';
    expect(await column(`select contract_id from creates($1, oldest_offset(), $2) order by 1`, token, 2)).toEqual([
      'token-1',
      'token-2',
    ]);
    const archives = `select contract_id from archives($1, coalesce(pruned_offset(), oldest_offset()), $2)`;
    expect(await column(archives, token, 10)).toEqual([]);
    expect(await column(archives, token, 11)).toEqual(['token-2']);
    expect(await column(`select contract_id from active($1, $2) order by 1`, token, 10)).toEqual([
      'token-1',
      'token-2',
      'token-3',
    ]);
  });

  it('return a contract by its id, and exercises by their choice (#20)', async () => {
    expect(await column(`select contract_id from lookup_contract($1, $2)`, 'dvp-1', 'ProposeSimpleDvP')).toEqual([
      'dvp-1',
    ]);
    const sql = `select contract_id from exercises('finance:AssetApp:ProposeSimpleDvP:Accept', $1, $2)`;
    expect(await column(sql, 14, 14)).toEqual(['dvp-1']);
    expect(await column(sql, 15, 20)).toEqual([]);
  });

  it('return contracts as of the offsets that set_latest() and set_oldest() set (#22)', async () => {
    expect(await column('select set_latest($1)', 10)).toEqual(['10']);
    expect(await column(`select contract_id from active('DA.Register:Token') order by 1`)).toEqual([
      'token-1',
      'token-2',
      'token-3',
    ]);
    await expect(rows(`select * from active('DA.Register:Token', 11)`)).rejects.toThrow(
      'Offset 11 is after the latest known offset 10',
    );
    expect(await column('select set_latest(null)')).toEqual([null]);
    const [latestRow] = await column('select latest_offset()');
    expect(latestRow).toBe('20');
    expect(await column(`select count(*) from creates('DA.Register:Token', 0::bigint, $1)`, latestRow)).toEqual(['3']);
    const joinedSql = `select a.contract_id from archives('DA.Register:Token', 0::bigint, $1) a
      join creates('DA.Register:Token', 0::bigint, $1) c using (contract_id)`;
    expect(await column(joinedSql, latestRow)).toEqual(['token-2']);
    expect(await column('select set_oldest(15)')).toEqual(['15']);
    expect(
      await column(`select contract_id from creates() where payload_type = 'template' order by created_at_ix limit 1`),
    ).toEqual(['name-1']);
    await rows('select set_oldest(null)');
  });

  it('return contracts created since the last read (#24)', async () => {
    const sql = `select contract_id from creates(from_offset := $1) where created_at_offset > $1 order by created_at_offset`;
    expect(await column(sql, 18)).toEqual(['price-2', 'other-token']);
    expect(await column(sql, 20)).toEqual([]);
  });

  it('join an event with its transaction (#25)', async () => {
    const sql = `select c.contract_id, t.transaction_id, t.workflow_id, (t.trace_context).trace_parent, t.effective_at
      from creates('IssuerApproval') c join transactions t on c.created_at_ix = t.ix where c.create_event_id = (4::bigint, 0)`;
    expect(await rows(sql)).toEqual([
      {
        contract_id: 'approval-1',
        transaction_id: '12200004',
        workflow_id: 'workflow',
        trace_parent: '00-aa-bb-01',
        effective_at: new Date(timeOf(4)),
      },
    ]);
  });

  it('join current names with earlier names (#26)', async () => {
    const sql = `select a.payload->>'name' as name, string_agg(c.payload->>'name', ', ') as aka
      from active('Names:Person') a inner join archives('Names:Person') c on a.payload->>'user_id' = c.payload->>'user_id'
      group by 1`;
    expect(await rows(sql)).toEqual([{ name: 'Anna', aka: 'Ann' }]);
  });

  it('return exercises of interface choices in chronological order (#27)', async () => {
    const sql = `select e.argument->>'newName' as name, tx.effective_at
      from creates('Names:Person') c
      join (select * from exercises('INameDocument:INameDocumentNameChange')
            union all select * from exercises('ProposeSimpleDvP:Accept')) e on c.contract_id = e.contract_id
      join transactions tx on tx.ix = e.exercised_at_ix order by tx.ix`;
    expect(await rows(sql)).toEqual([{ name: 'Anna', effective_at: new Date(timeOf(16)) }]);
    expect(
      await rows(`select template_fqn, choice_fqn, package_name from exercises('INameDocumentNameChange')`),
    ).toEqual([
      {
        template_fqn: 'names:Names:INameDocument',
        choice_fqn: 'names:Names:INameDocument:INameDocumentNameChange',
        package_name: 'names',
      },
    ]);
  });

  it('return exercises with their stakeholders, controllers and witnesses (#28)', async () => {
    const sql = `select argument->>'toBeAllocated' as cid, signatories, observers, stakeholders(e), controllers, witnesses
      from exercises('AssetApp:ProposeSimpleDvP:Accept') e`;
    expect(await rows(sql)).toEqual([
      {
        cid: 'amulet-1',
        signatories: [alice],
        observers: [bob],
        stakeholders: [alice, bob],
        controllers: [bob],
        witnesses: [alice],
      },
    ]);
  });

  it('count contracts, updates and exercises (#29)', async () => {
    const fqn = `where template_fqn in ('register:DA.Register:Token', 'names:Names:Person') order by 1`;
    const template = { payload_type: 'template' };
    const [names, register] = ['names:Names:Person', 'register:DA.Register:Token'];
    expect(await rows(`select * from summary_active() ${fqn}`)).toEqual([
      { template_fqn: names, ...template, count: '1' },
      { template_fqn: register, ...template, count: '2' },
    ]);
    expect(await rows(`select * from summary_creates() ${fqn}`)).toEqual([
      { template_fqn: names, ...template, count: '2' },
      { template_fqn: register, ...template, count: '3' },
    ]);
    expect(await rows(`select * from summary_archives(12) ${fqn}`)).toEqual([
      { template_fqn: names, ...template, count: '1' },
    ]);
    expect(await rows(`select * from summary_transients(2, 11)`)).toEqual([
      { template_fqn: register, ...template, count: '1' },
    ]);
    expect(await rows(`select * from summary_updates(2) ${fqn}`)).toEqual([
      { template_fqn: names, ...template, creates: '2', archives: '1' },
      { template_fqn: register, ...template, creates: '2', archives: '1' },
    ]);
    expect(await rows(`select * from summary_exercises() order by choice`)).toEqual([
      { choice: 'Accept', consuming: true, count: '1', ...fqnOf('finance:AssetApp:ProposeSimpleDvP', 'Accept') },
      { choice: 'Archive', consuming: true, count: '1', ...fqnOf('register:DA.Register:Token', 'Archive') },
      {
        choice: 'INameDocumentNameChange',
        consuming: true,
        count: '1',
        ...fqnOf('names:Names:INameDocument', 'INameDocumentNameChange'),
      },
    ]);
  });

  it('return a contract in any state, and its exercises (#30)', async () => {
    expect(
      await rows(`select template_fqn, archived_at_offset, archive_event_id::text from lookup_contract('token-2')`),
    ).toEqual([{ template_fqn: 'register:DA.Register:Token', archived_at_offset: '11', archive_event_id: '(11,0)' }]);
    expect(await column(`select template_fqn from lookup_contract('amulet-1') order by 1`)).toEqual([
      'finance:Finance.Disclosure:IDisclosure',
      'splice-amulet:Splice.Amulet:Amulet',
      'splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding',
    ]);
    expect(await column(`select choice from lookup_exercises('token-2')`)).toEqual(['Archive']);
  });

  it('return contracts by a range of amounts (#34)', async () => {
    const sql = `select contract_id from creates('DA.Register:Token') where (payload->>'quantity')::decimal between 15 and 35`;
    expect(await column(sql)).toEqual(['token-2']);
  });
});

function fqnOf(template: string, choice: string): Record<string, string> {
  return { template_fqn: template, choice_fqn: `${template}:${choice}` };
}

describe('PQS queries of time and maintenance', () => {
  it('return the offset at a time (#32)', async () => {
    expect(await column(`select nearest_offset($1::timestamptz)`, '2026-08-14T10:07:59Z')).toEqual(['7']);
    expect(await column(`select nearest_offset($1::timestamptz)`, timeOf(8))).toEqual(['8']);
    expect(await column(`select nearest_offset($1::timestamptz)`, '2020-01-01')).toEqual([null]);
    for (const end of ['2100-01-01', '9999-12-31', 'infinity'])
      expect(await column(`select nearest_offset($1::timestamptz)`, end), end).toEqual(['20']);
    const elapsedSql = `now() - timestamptz '2026-08-14T10:12:30Z'`;
    expect(await column(`select nearest_offset(${elapsedSql})`)).toEqual(['12']);
    expect(await column(`select count(*) from active('Trade', nearest_offset(${elapsedSql}))`)).toEqual(['3']);
  });

  it('create an index on a payload field (#33)', async () => {
    const expression = `(payload->'wallet'->>'holder')`;
    await rows(
      `call create_index_for_contract('token_holder', 'register:DA.Register:Token', '${expression.replaceAll("'", "''")}', 'hash')`,
    );
    expect(await column(`select indexdef from pg_indexes where indexname = 'token_holder'`)).toEqual([
      `CREATE INDEX token_holder ON ledger.contracts USING hash ((((payload -> 'wallet'::text) ->> 'holder'::text))) WHERE (((payload -> 'wallet'::text) ->> 'holder'::text) IS NOT NULL)`,
    ]);
    expect(
      await column(`select print_create_index_for_contract('x', 'Trade', 'payload', 'gin', 'jsonb_path_ops')`),
    ).toEqual([
      'create index concurrently x on ledger.contracts using gin ((payload) jsonb_path_ops) where (payload) is not null',
    ]);
    const numeric = `select print_create_index_for_contract('x', 'Trade', '(payload->>''n'')::decimal', 'btree')`;
    await expect(rows(numeric)).rejects.toThrow('cannot hold the rows of one template only');
    const view = `select print_create_index_for_contract('x', 'Holding', 'payload->>''owner''', 'btree')`;
    await expect(rows(view)).rejects.toThrow('cannot be indexed');
  });
});

describe('PQS queries of explorers', () => {
  it('return contracts by key (#31)', async () => {
    const sql = `select contract_id from __contracts where contract_key = jsonb_build_object('id', 'k1') order by created_at_ix`;
    expect(await column(sql)).toEqual(['trade-1']);
  });

  it('count updates per quarter of an hour (#36)', async () => {
    const sql = `select to_timestamp(floor(extract(epoch from tx.effective_at) / 900) * 900) as at, count(*)
      from __transactions tx group by 1 order by 1`;
    expect(await rows(sql)).toEqual([
      { at: new Date('2026-08-14T10:00:00Z'), count: '14' },
      { at: new Date('2026-08-14T10:15:00Z'), count: '6' },
    ]);
  });

  it('return a page of updates by party and template (#37)', async () => {
    const sql = `select tx.transaction_id from __transactions tx
      where tx."offset" < $1 and exists (
        select from __contracts c join __contract_tpe t on t.pk = c.tpe_pk
         where c.created_at_ix = tx.ix and $2 = any(c.witnesses) and 'License' = any(t.aliases))
      order by tx."offset" desc limit 1`;
    expect(await column(sql, 20, alice)).toEqual(['12200006']);
    expect(await column(sql, 6, alice)).toEqual(['12200005']);
    expect(await column(sql, 20, bob)).toEqual([]);
  });

  it('return contracts by id prefix (#38)', async () => {
    expect(
      await column(`select distinct contract_id from __contracts where contract_id like 'license%' order by 1`),
    ).toEqual(['license-1', 'license-2', 'license-3']);
  });

  it('return the newest contracts of a party (#39)', async () => {
    const sql = `select contract_id from __contracts where $1 = any(witnesses) and created_at_ix < $2
      order by created_at_ix desc, create_event_pk desc limit 2`;
    expect(await column(sql, alice, 19)).toEqual(['price-1', 'traffic-2']);
  });

  it('return rows of the dictionaries, __events and __watermark', async () => {
    expect(await rows(`select payload_type, aliases from __contract_tpe where entity_name = 'IDisclosure'`)).toEqual([
      {
        payload_type: 'interface',
        aliases: ['finance:Finance.Disclosure:IDisclosure', 'Finance.Disclosure:IDisclosure', 'IDisclosure'],
      },
    ]);
    expect(await rows(`select count(*) from __contract_tpe where entity_name = 'License'`)).toEqual([{ count: '1' }]);
    expect(
      await rows(`select t.choice_fqn, t.consuming, e.contract_id from __exercises e join __exercise_tpe t on t.pk = e.tpe_pk
      where e.contract_id = 'dvp-1'`),
    ).toEqual([{ choice_fqn: 'finance:AssetApp:ProposeSimpleDvP:Accept', consuming: true, contract_id: 'dvp-1' }]);
    expect(await rows(`select e.type, count(*) from __events e group by 1 order by 1`)).toEqual([
      { type: 'archive', count: '3' },
      { type: 'create', count: '22' },
      { type: 'exercise', count: '3' },
    ]);
    expect(
      await rows(`select p.version, count(*) from __contracts c join __packages p on p.pk = c.package_pk
      where p.name = 'quickstart-licensing' group by 1 order by 1`),
    ).toEqual([
      { version: '0.0.4', count: '2' },
      { version: '0.0.5', count: '2' },
    ]);
    expect(await rows(`select ix, "offset" from __watermark`)).toEqual([{ ix: '20', offset: '20' }]);
  });
});
