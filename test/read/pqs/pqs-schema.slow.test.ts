/**
 * The objects of schema pqs. Each has a comment, the schema can be created repeatedly and for any storage schema, and
 * omitted fields are returned as null.
 */
import { describe, expect, it } from 'vitest';
import { Client } from 'pg';
import type { PackageModel } from '../../../src/daml/package-model.ts';
import { storeOmittedFields } from '../../../src/store/typed/package-store.ts';
import { buildReadSideScript } from '../../../src/store/schema/read-side.ts';
import { created, transaction } from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';

const uncommented = `
  select c.relname || coalesce('.' || a.attname, '') as name
    from pg_class c
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = $1::regnamespace and c.relkind = 'v'
     and (obj_description(c.oid) is null or col_description(c.oid, a.attnum) is null)
   union all
  select p.proname from pg_proc p where p.pronamespace = $1::regnamespace and obj_description(p.oid) is null
   union all
  select t.typname from pg_type t join pg_class c on c.oid = t.typrelid
   where t.typnamespace = $1::regnamespace and c.relkind = 'c' and obj_description(t.oid) is null`;

const packageId = 'ab'.repeat(32);
const model: PackageModel = {
  packageId,
  name: 'iou',
  version: '1.0.0',
  languageVersion: '2.1',
  templates: [{ moduleName: 'Main', entityName: 'Iou', choices: [], implements: [], key: undefined }],
  interfaces: [
    {
      moduleName: 'Main',
      entityName: 'Viewed',
      choices: [],
      view: { kind: 'named', name: `${packageId}:Main:View`, arguments: [] },
      requires: [],
    },
  ],
  dataTypes: {
    'Main:Iou': {
      kind: 'record',
      parameters: [],
      fields: [{ name: 'owner', type: { kind: 'builtin', name: 'party' } }],
    },
    'Main:View': {
      kind: 'record',
      parameters: [],
      fields: [
        { name: 'owner', type: { kind: 'builtin', name: 'party' } },
        { name: 'lock', type: { kind: 'optional', of: { kind: 'builtin', name: 'text' } } },
      ],
    },
  },
  dependencies: [],
};

describe('PQS schemas', () => {
  it.each(['pqs', 'pqs_multisync'])('have a comment on every view, column, function and type of %s', async (schema) => {
    await using database = await createReadDatabase();
    expect(await database.query(uncommented, [schema])).toEqual([]);
  });

  it('can be created twice, for a storage schema whose name needs quotes', async () => {
    await using database = await createReadDatabase('Node "1"');
    await database.query(await buildReadSideScript('Node "1"'));
    await database.query(`set search_path = 'Node "1"_pqs'`);
    expect(await database.query('select * from active()')).toEqual([]);
    await expect(database.query(`select * from active('X')`)).rejects.toThrow('Identifier not found: X');
    expect(await database.query('select latest_offset(), oldest_offset(), pruned_offset()')).toEqual([
      { latest_offset: '0', oldest_offset: '0', pruned_offset: null },
    ]);
  });

  it.each([
    ['null', null, 'null'],
    ['{"a": 1}', null, '{"a": 1}'],
    ['{"a": 1}', '{"nulls": {"lock": null}}', '{"a": 1, "lock": null}'],
    ['{"lock": "x"}', '{"nulls": {"lock": null}}', '{"lock": "x"}'],
    ['{"a": {"b": 1}}', '{"nulls": {}, "fields": {"a": {"nulls": {"c": null}}}}', '{"a": {"b": 1, "c": null}}'],
    ['{"a": null}', '{"nulls": {}, "fields": {"a": {"nulls": {"c": null}}}}', '{"a": null}'],
    ['{}', '{"nulls": {"a": null}, "fields": {"a": {"nulls": {"c": null}}}}', '{"a": null}'],
    ['[{}, {"x": 1}]', '{"items": {"nulls": {"x": null}}}', '[{"x": null}, {"x": 1}]'],
    ['[]', '{"items": {"nulls": {"x": null}}}', '[]'],
    ['{"k": {}}', '{"values": {"nulls": {"x": null}}}', '{"k": {"x": null}}'],
    ['[["k", {}]]', '{"entries": [null, {"nulls": {"x": null}}]}', '[["k", {"x": null}]]'],
    ['{"tag": "T", "value": {}}', '{"cases": {"T": {"nulls": {"x": null}}}}', '{"tag": "T", "value": {"x": null}}'],
    ['{"tag": "U", "value": {}}', '{"cases": {"T": {"nulls": {"x": null}}}}', '{"tag": "U", "value": {}}'],
    ['"text"', '{"nulls": {"x": null}}', '"text"'],
  ])('add nulls to the value %s for the omitted fields %s', async (value, omittedJson, expected) => {
    await using database = await createReadDatabase();
    const [row] = await database.query(`select pqs.with_nulls($1, $2)::text as completed`, [value, omittedJson]);
    expect(row).toEqual({ completed: expected });
  });

  it('return nulls for omitted fields in interface views and by payload_with_nulls()', async () => {
    await using database = await createReadDatabase();
    const view = {
      interfaceId: `${packageId}:Main:Viewed`,
      viewStatus: { code: 0, message: '', details: [] },
      viewValue: { owner: 'x' },
      implementationPackageId: packageId,
    };
    const event = created({ templateId: `${packageId}:Main:Iou`, offset: 1, interfaceViews: [view] });
    await database.write(transaction(1, [{ CreatedEvent: event }]));
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('set search_path = ledger');
    const lookup = (id: string): PackageModel | undefined => (id === packageId ? model : undefined);
    expect(await storeOmittedFields(client, lookup)).toBe(1);
    expect(await storeOmittedFields(client, lookup)).toBe(0);
    await client.end();
    expect(await database.query(`select payload from pqs.active('Viewed')`)).toEqual([
      { payload: { owner: 'x', lock: null } },
    ]);
    await database.query(
      `insert into omitted_fields select template_pk, '{"nulls": {"note": null}}' from templates where entity_name = 'Iou'`,
    );
    expect(
      await database.query(`select pqs.payload_with_nulls(a.*) - 'amount' - 'owner' as p from pqs.active('Iou') a`),
    ).toEqual([{ p: { note: null } }]);
  });
});
