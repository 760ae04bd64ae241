/**
 * Common steps of merging a staging schema: mapping its numbers to those of this schema, removing redacted contents,
 * copying rows.
 */
import { escapeIdentifier, type ClientBase } from 'pg';

/**
 * Maps numbers of staged templates to those of this schema in table `template_map`, and adds new templates to this
 * schema.
 */
export async function mapTemplates(client: ClientBase, stagingName: string): Promise<void> {
  const sameTemplateSql = '(m.package_id, m.module_name, m.entity_name) = (s.package_id, s.module_name, s.entity_name)';
  // The new numbers have no gaps, because the writer continues from their count.
  await client.query(
    `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
     select (select coalesce(max(template_pk), 0) from templates) + row_number() over (order by s.template_pk),
            s.package_id, s.module_name, s.entity_name, s.package_name
       from ${stagingName}.templates s where not exists (select from templates m where ${sameTemplateSql})`,
  );
  await client.query(
    `update templates m set package_name = s.package_name
       from ${stagingName}.templates s where ${sameTemplateSql} and m.package_name is null and s.package_name is not null`,
  );
  await client.query(
    `create table ${stagingName}.template_map as
     select s.template_pk as staged, m.template_pk as ours
       from ${stagingName}.templates s join templates m using (package_id, module_name, entity_name)`,
  );
  await client.query(`alter table ${stagingName}.template_map add primary key (staged)`);
  await client.query(
    `insert into template_interfaces (template_pk, interface_pk)
     select t.ours, i.ours
       from ${stagingName}.template_interfaces s
       join ${stagingName}.template_map t on t.staged = s.template_pk
       join ${stagingName}.template_map i on i.staged = s.interface_pk
     on conflict do nothing`,
  );
}

/**
 * Removes redacted contents from the staging schema. A contract may have been redacted while it was staged, or after a
 * run was interrupted.
 */
export async function removeRedacted(client: ClientBase, stagingName: string): Promise<void> {
  const redacted = 'redacted_contracts r on r.contract_id = id_text(c.contract_id)';
  await client.query(
    `update ${stagingName}.interface_views s set view = null, status_message = null, status_details = null, redaction_id = r.redaction_id
       from ${stagingName}.contracts c join ${redacted}
      where c."offset" = s."offset" and c.node_id = s.node_id and s.redaction_id is null`,
  );
  await client.query(
    `update ${stagingName}.contracts c set payload = null, contract_key = null, created_event_blob = null, redaction_id = r.redaction_id
       from redacted_contracts r where r.contract_id = id_text(c.contract_id) and c.redaction_id is null`,
  );
  await client.query(
    `update ${stagingName}.exercises c set argument = null, result = null, redaction_id = r.redaction_id
       from redacted_contracts r where r.exercises and r.contract_id = id_text(c.contract_id) and c.redaction_id is null`,
  );
  await client.query(
    `update ${stagingName}.exercises c set argument = null, result = null, redaction_id = r.redaction_id
       from redacted_exercises r where r."offset" = c."offset" and r.node_id = c.node_id and c.redaction_id is null`,
  );
  await client.query(
    `update ${stagingName}.reassignments c set created_event = null
       from redacted_contracts r where r.contract_id = id_text(c.contract_id) and c.created_event is not null`,
  );
}

/** Maps numbers of staged synchronizers to those of this schema, in table `synchronizer_map`. */
export async function mapSynchronizers(client: ClientBase, stagingName: string): Promise<void> {
  await client.query(
    `insert into synchronizers
     select (select coalesce(max(synchronizer_pk), 0) from synchronizers) + row_number() over (order by s.synchronizer_pk),
            s.synchronizer_id
       from ${stagingName}.synchronizers s
      where not exists (select from synchronizers m where m.synchronizer_id = s.synchronizer_id)`,
  );
  await client.query(
    `create table ${stagingName}.synchronizer_map as
     select s.synchronizer_pk as staged, m.synchronizer_pk as ours
       from ${stagingName}.synchronizers s join synchronizers m using (synchronizer_id)`,
  );
  await client.query(`alter table ${stagingName}.synchronizer_map add primary key (staged)`);
}

/** Creates table `states`: the state of each listed contract, with the numbers of this schema. */
export async function collectStates(client: ClientBase, stagingName: string): Promise<void> {
  await client.query(
    `create table ${stagingName}.states as
     select l."offset", l.node_id, l.contract_id, t.ours as template_pk, y.ours as synchronizer_pk, p.ours as parties_pk,
            l.ended_offset, l.ended_by, l.ended_at, l.ended_node_id
       from (select "offset", node_id, contract_id, template_pk, synchronizer_pk, parties_pk,
                    null::bigint as ended_offset, null::"char" as ended_by, null::timestamptz as ended_at,
                    null::integer as ended_node_id
               from ${stagingName}.live
             union all
             select "offset", node_id, contract_id, template_pk, synchronizer_pk, parties_pk,
                    ended_offset, ended_by, ended_at, ended_node_id
               from ${stagingName}.ended) l
       join ${stagingName}.template_map t on t.staged = l.template_pk
       join ${stagingName}.synchronizer_map y on y.staged = l.synchronizer_pk
       join ${stagingName}.contract_parties_map p on p.staged = l.parties_pk;
     analyze ${stagingName}.states`,
  );
}

const sameContractSql = 's."offset" = l."offset" and s.node_id = l.node_id and s.contract_id = l.contract_id';

/**
 * Marks listed contracts as hosted again if one of their parties is hosted again. This check is needed because the
 * participant may list contracts that ended long ago if it does not host their parties.
 */
export async function clearUnhosted(client: ClientBase, stagingName: string, offset: number): Promise<void> {
  await client.query(
    `update live l set unhosted_since = null
       from contract_parties p
      where l.unhosted_since is not null and p.parties_pk = l.parties_pk
        and exists (select from ${stagingName}.states s where ${sameContractSql} and s.ended_offset is null)
        and exists (select from unnest(p.witness_parties) w (party)
                     where (w.party = any (p.signatories) or w.party = any (p.observers))
                       and hosts(w.party, l.synchronizer_pk, $1))`,
    [offset],
  );
}

const copiedTables = ['contracts', 'interface_views', 'reassignments'] as const;

/** The table that maps the numbers in this column; undefined if the column holds no number of a dictionary. */
function mapOf(table: (typeof copiedTables)[number], column: string): string | undefined {
  if (column === 'template_pk' || column === 'interface_pk') return 'template_map';
  if (['synchronizer_pk', 'source_pk', 'target_pk'].includes(column)) return 'synchronizer_map';
  if (column !== 'parties_pk') return undefined;
  return table === 'contracts' ? 'contract_parties_map' : 'event_parties_map';
}

/**
 * Copies all rows that are not stored yet, with the numbers of this schema.
 * @param where SQL: condition on the row `r`
 * @param into a table that receives the positions of added rows
 */
export async function copyRows(
  client: ClientBase,
  stagingName: string,
  table: (typeof copiedTables)[number],
  { where: condition, into: target }: { readonly where?: string; readonly into?: string } = {},
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select attname::text as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  const values = rows.map(({ name }) => {
    const column = `r.${escapeIdentifier(name)}`;
    const map = mapOf(table, name);
    return map === undefined ? column : `(select m.ours from ${stagingName}.${map} m where m.staged = ${column})`;
  });
  const insert = `insert into ${table} (${rows.map(({ name }) => escapeIdentifier(name)).join(', ')})
     select ${values.join(', ')} from ${stagingName}.${table} r where ${condition ?? 'true'} on conflict do nothing`;
  await client.query(
    target === undefined
      ? insert
      : `with added as (${insert} returning "offset", node_id) insert into ${target} select "offset", node_id from added`,
  );
}

/** Columns of party sets, by table. */
export const partyColumns = {
  contract_parties: ['signatories', 'observers', 'witness_parties'],
  event_parties: ['acting_parties', 'witness_parties', 'implemented_interfaces'],
} as const;

/**
 * Maps numbers of staged party sets to those of this schema. The writer assigns increasing numbers from memory; other
 * sessions assign decreasing negative numbers.
 * @param map SQL of the map to create: `table NAME` or a temporary table
 */
export async function numberParties(
  client: ClientBase,
  table: keyof typeof partyColumns,
  { staged: stagingName, map }: { readonly staged: string; readonly map: string },
): Promise<void> {
  const columns = partyColumns[table].join(', ');
  const samePartySetSql = `(${columns}) = (${partyColumns[table].map((column) => `s.${column}`).join(', ')})`;
  await client.query(
    `insert into ${table} (parties_pk, ${columns})
     select (select least(min(parties_pk), 0) from ${table}) - row_number() over (order by s.first), ${columns}
       from (select min(parties_pk) as first, ${columns} from ${stagingName} group by ${columns}) s
      where not exists (select from ${table} m where ${samePartySetSql})`,
  );
  await client.query(
    `create ${map} as
     select s.parties_pk as staged, max(m.parties_pk) as ours
       from ${stagingName} s join ${table} m using (${columns}) group by 1`,
  );
}
