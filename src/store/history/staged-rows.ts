/** What any merge of a staging schema does first: numbers of its templates become ours, and what is redacted goes. */
import type { ClientBase } from 'pg';

/** Numbers of the staged templates and interfaces to numbers of ours, which grow by what is new: table `template_map`. */
export async function mapTemplates(client: ClientBase, staged: string): Promise<void> {
  const named = '(m.package_id, m.module_name, m.entity_name) = (s.package_id, s.module_name, s.entity_name)';
  // Without gaps: the writer goes on from how many there are.
  await client.query(
    `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
     select (select coalesce(max(template_pk), 0) from templates) + row_number() over (order by s.template_pk),
            s.package_id, s.module_name, s.entity_name, s.package_name
       from ${staged}.templates s where not exists (select from templates m where ${named})`,
  );
  await client.query(
    `update templates m set package_name = s.package_name
       from ${staged}.templates s where ${named} and m.package_name is null and s.package_name is not null`,
  );
  await client.query(
    `create table ${staged}.template_map as
     select s.template_pk as staged, m.template_pk as ours
       from ${staged}.templates s join templates m using (package_id, module_name, entity_name)`,
  );
  await client.query(`alter table ${staged}.template_map add primary key (staged)`);
  await client.query(
    `insert into template_interfaces (template_pk, interface_pk)
     select t.ours, i.ours
       from ${staged}.template_interfaces s
       join ${staged}.template_map t on t.staged = s.template_pk
       join ${staged}.template_map i on i.staged = s.interface_pk
     on conflict do nothing`,
  );
}

/** What was redacted while contracts were gathered, or since a run was cut, has its contents in the staging yet. */
export async function removeRedacted(client: ClientBase, staged: string): Promise<void> {
  const redacted = 'redacted_contracts r on r.contract_id = id_text(c.contract_id)';
  await client.query(
    `update ${staged}.interface_views s set view = null, status_message = null, status_details = null, redaction_id = r.redaction_id
       from ${staged}.contracts c join ${redacted}
      where c."offset" = s."offset" and c.node_id = s.node_id and s.redaction_id is null`,
  );
  await client.query(
    `update ${staged}.contracts c set payload = null, contract_key = null, created_event_blob = null, redaction_id = r.redaction_id
       from redacted_contracts r where r.contract_id = id_text(c.contract_id) and c.redaction_id is null`,
  );
  await client.query(
    `update ${staged}.exercises c set argument = null, result = null, redaction_id = r.redaction_id
       from redacted_contracts r where r.exercises and r.contract_id = id_text(c.contract_id) and c.redaction_id is null`,
  );
  await client.query(
    `update ${staged}.exercises c set argument = null, result = null, redaction_id = r.redaction_id
       from redacted_exercises r where r."offset" = c."offset" and r.node_id = c.node_id and c.redaction_id is null`,
  );
  await client.query(
    `update ${staged}.reassignments c set created_event = null
       from redacted_contracts r where r.contract_id = id_text(c.contract_id) and c.created_event is not null`,
  );
}
