/**
 * The tables that other programs read, as SQL over the storage tables. Each row belongs to one offset and does not
 * change when later updates arrive. Views of explore also have the current state of a contract (whether it is active,
 * when it ended). Here, the end of a contract is a row of `contract_ends` at the offset of the end. There is no table
 * `events`, because it would repeat the other tables. Only `updates` has update ids.
 */
import type { ReadTable } from './reads.ts';

/** A table before its columns are known. */
export interface StoredTable extends Omit<ReadTable, 'columns'> {
  /** SQL with one result column for each column of the table. Ids, parties and names are texts. */
  readonly sql: string;
  /** Number of digits after the decimal point, by the name of the numeric column. */
  readonly scales?: ReadonlyMap<string, number>;
}

const template = `coalesce(t.package_name, t.package_id) || ':' || t.module_name || ':' || t.entity_name as template_fqn,
  coalesce(t.package_name, t.package_id) as package_name, t.module_name, t.entity_name, t.package_id`;
const interfaceFqn = `coalesce(i.package_name, p.package_name, i.package_id) || ':' || i.module_name || ':' || i.entity_name`;

/** SQL condition; `$from` and `$to` are replaced later. Both ends are included. */
export const withinRange = (boundColumn: string): string => `${boundColumn} between $from and $to`;

const updates: StoredTable = {
  name: 'updates',
  offset: 'offset',
  order: ['offset'],
  sql: `select u."offset",
         case u.kind when 't' then 'transaction' when 'r' then 'reassignment' when 'p' then 'topology' else 'unknown' end as kind,
         id_text(u.update_id) as update_id, u.effective_at, u.record_time, s.synchronizer_id, u.command_id, u.workflow_id,
         trace_text(u.trace_parent) as trace_parent, u.trace_state, id_text(u.transaction_hash) as transaction_hash,
         id_text(u.external_transaction_hash) as external_transaction_hash, u.paid_traffic_cost, u.event_count, b.indexed_at
    from updates u
    left join batches b on b.batch_offset = u.batch_offset
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where ${withinRange('u."offset"')}`,
};

const contracts: StoredTable = {
  name: 'contracts',
  offset: 'created_at_offset',
  order: ['created_at_offset', 'node_id'],
  redacted: {
    rows: 'contracts',
    contents: ['payload', 'contract_key'],
    contractId: 'contract_id',
    redactionId: 'redaction_id',
  },
  sql: `select id_text(c.contract_id) as contract_id, ${template}, c.payload, c.contract_key, p.signatories, p.observers,
         p.witness_parties as witnesses, c."offset" as created_at_offset, c.created_at, u.record_time,
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end as origin,
         s.synchronizer_id, c.reassignment_counter, c.node_id, c.redaction_id
    from contracts c
    join templates t on t.template_pk = c.template_pk
    left join contract_parties p on p.parties_pk = c.parties_pk
    left join synchronizers s on s.synchronizer_pk = c.synchronizer_pk
    left join updates u on u."offset" = c."offset"
   where ${withinRange('c."offset"')}`,
};

/**
 * A contract that lost all of its parties and ended later has two rows, because the loss was known before the end. The
 * activation is identified by its offset and node, as in `contracts`. Contract ids are omitted because they would use
 * most of the space in files.
 */
const contractEnds: StoredTable = {
  name: 'contract_ends',
  offset: 'offset',
  order: ['offset', 'created_at_offset', 'node_id', 'kind'],
  followsLate: true,
  sql: `select l.ended_offset as "offset", l.kind, l.ended_node_id, l.ended_at, ${template},
         l."offset" as created_at_offset, l.node_id, s.synchronizer_id
    from (select e.ended_offset, e.ended_node_id, e.ended_at, e."offset", e.node_id, e.template_pk, e.synchronizer_pk,
                 case e.ended_by when 'a' then 'archived' when 'r' then 'unassigned' when 'e' then 'ended' else 'witnessed' end as kind
            from ended e where ${withinRange('e.ended_offset')}
          union all
          select e.unhosted_since, null, null, e."offset", e.node_id, e.template_pk, e.synchronizer_pk, 'unhosted'
            from ended e where e.ended_offset >= $from and ${withinRange('e.unhosted_since')} and $unhosted
          union all
          select v.unhosted_since, null, null, v."offset", v.node_id, v.template_pk, v.synchronizer_pk, 'unhosted'
            from live v where ${withinRange('v.unhosted_since')}) l
    join templates t on t.template_pk = l.template_pk
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk`,
};

const exercises: StoredTable = {
  name: 'exercises',
  offset: 'offset',
  order: ['offset', 'node_id'],
  redacted: {
    rows: 'exercises',
    contents: ['argument', 'result'],
    contractId: 'contract_id',
    redactionId: 'redaction_id',
  },
  namesPackages: true,
  sql: `select e."offset", e.node_id, id_text(e.contract_id) as contract_id, ${template}, h.choice,
         case when i.template_pk is not null then ${interfaceFqn} end as interface_fqn,
         e.argument, e.result, w.acting_parties, w.witness_parties as witnesses, e.consuming, e.last_descendant_node_id,
         u.effective_at, u.record_time, s.synchronizer_id, e.redaction_id
    from exercises e
    left join event_parties w on w.parties_pk = e.parties_pk
    left join choices h on h.choice_pk = e.choice_pk
    left join templates t on t.template_pk = h.template_pk
    left join templates i on i.template_pk = h.interface_pk
    left join packages p on p.package_id = i.package_id
    left join updates u on u."offset" = e."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where ${withinRange('e."offset"')}`,
};

const interfaceViews: StoredTable = {
  name: 'interface_views',
  offset: 'offset',
  order: ['offset', 'node_id', 'interface_id'],
  redacted: {
    rows: 'interface_views',
    contents: ['view', 'status_message', 'status_details'],
    contractId: 'contract_id',
    redactionId: 'redaction_id',
  },
  namesPackages: true,
  sql: `select id_text(c.contract_id) as contract_id, v."offset", v.node_id, ${interfaceFqn} as interface_fqn,
         i.package_id || ':' || i.module_name || ':' || i.entity_name as interface_id, v.view, v.status_code, v.status_message,
         v.status_details, v.implementation_package_id,
         coalesce(t.package_name, t.package_id) || ':' || t.module_name || ':' || t.entity_name as template_fqn,
         c.created_at, v.redaction_id
    from interface_views v
    join templates i on i.template_pk = v.interface_pk
    left join packages p on p.package_id = i.package_id
    join contracts c on c."offset" = v."offset" and c.node_id = v.node_id
    left join templates t on t.template_pk = c.template_pk
   where ${withinRange('v."offset"')} and ${withinRange('c."offset"')}`,
};

const reassignments: StoredTable = {
  name: 'reassignments',
  offset: 'offset',
  order: ['offset', 'contract_id', 'kind'],
  sql: `select r."offset", r.node_id, case r.kind when 'u' then 'unassign' else 'assign' end as kind,
         id_text(r.contract_id) as contract_id,
         coalesce(t.package_name, t.package_id) || ':' || t.module_name || ':' || t.entity_name as template_fqn,
         r.reassignment_id, r.reassignment_counter, a.synchronizer_id as source, b.synchronizer_id as target, r.submitter,
         r.assignment_exclusivity, w.witness_parties as witnesses, r.incomplete, u.record_time
    from reassignments r
    left join event_parties w on w.parties_pk = r.parties_pk
    left join templates t on t.template_pk = r.template_pk
    left join synchronizers a on a.synchronizer_pk = r.source_pk
    left join synchronizers b on b.synchronizer_pk = r.target_pk
    left join updates u on u."offset" = r."offset"
   where ${withinRange('r."offset"')}`,
};

const topologyEvents: StoredTable = {
  name: 'topology_events',
  offset: 'offset',
  order: ['offset', 'event_index'],
  sql: `select y."offset", y.event_index, y.kind, y.party_id, y.participant_id, y.participant_permission, u.record_time,
         s.synchronizer_id
    from topology_events y
    left join updates u on u."offset" = y."offset"
    left join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
   where ${withinRange('y."offset"')}`,
};

/** All tables except the typed views. */
export const storedTables: readonly StoredTable[] = [
  updates,
  contracts,
  contractEnds,
  exercises,
  interfaceViews,
  reassignments,
  topologyEvents,
];
