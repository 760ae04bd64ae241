/** Rules of contracts: created once, ended once, active exactly between. */
import type { Invariant } from './invariant.ts';

/** Events that end a contract on a synchronizer; `counts` where the ledger says so, or where it said nothing. */
const endings = `
  select e."offset", e.contract_id, u.synchronizer_pk, 'exercise ' || e.node_id as event
    from exercises e join updates u using ("offset") where e.consuming and e.acs_delta is distinct from false
  union all
  select a."offset", a.contract_id, u.synchronizer_pk, 'archive ' || a.node_id
    from archives a join updates u using ("offset")
  union all
  select "offset", contract_id, source_pk, 'unassign' from reassignments where kind = 'unassign'`;

/** Rules I08 to I14, I20, I32 to I35 and I38. */
export const contractInvariants: readonly Invariant[] = [
  {
    id: 'I08',
    says: 'a contract is created once',
    sql: `select max("offset") as "offset", contract_id, count(*) || ' creates from offset ' || min("offset") as found
            from contracts where origin = 'create' group by contract_id having count(*) > 1`,
  },
  {
    id: 'I09',
    says: 'a contract is archived once',
    sql: `select max("offset") as "offset", contract_id, count(*) || ' archives from offset ' || min("offset") as found
            from (select "offset", contract_id from exercises where consuming
                  union all select "offset", contract_id from archives) a
           group by contract_id having count(*) > 1`,
  },
  {
    id: 'I10',
    says: 'an archive or unassign ends the lifetime of its contract at its offset',
    sql: `select d."offset", d.contract_id, d.event || ' ended no lifetime' as found
            from (${endings}) d
           where exists (select from lifetimes l where l.contract_id = d.contract_id
                            and l.synchronizer_pk = d.synchronizer_pk and l.activated_offset <= d."offset")
             and not exists (select from lifetimes l where l.contract_id = d.contract_id
                                and l.synchronizer_pk = d.synchronizer_pk and l.deactivated_offset = d."offset")`,
  },
  {
    id: 'I11',
    says: 'lifetimes and activations belong together, one to one',
    sql: `select l.activated_offset as "offset", l.contract_id, 'a lifetime without its activation' as found
            from lifetimes l
           where not exists (select from contracts c where c.contract_id = l.contract_id
                                and c."offset" = l.activated_offset and c.synchronizer_pk = l.synchronizer_pk
                                and c.template_pk = l.template_pk)
          union all
          select activated_offset, contract_id, count(*) || ' lifetimes of one activation'
            from lifetimes group by contract_id, synchronizer_pk, activated_offset having count(*) > 1
          union all
          select c."offset", c.contract_id, 'an activation without its lifetime'
            from contracts c
           where (c.acs_delta or c.origin <> 'create')
             and not exists (select from lifetimes l where l.contract_id = c.contract_id
                                and l.activated_offset = c."offset" and l.synchronizer_pk = c.synchronizer_pk)`,
  },
  {
    id: 'I12',
    says: 'a contract ends after it began',
    sql: `select deactivated_offset as "offset", contract_id, 'ends before offset ' || activated_offset as found
            from lifetimes where deactivated_offset < activated_offset
          union all
          select e."offset", e.contract_id, 'archived by node ' || e.node_id || ', created by node ' || c.node_id
            from exercises e join contracts c on c.contract_id = e.contract_id and c."offset" = e."offset"
           where e.consuming and c.origin <> 'seed' and e.node_id <= c.node_id`,
  },
  {
    id: 'I13',
    says: 'what a seed found began at or before the seed',
    sql: `select c."offset", c.contract_id, 'seeded, but activated after offset ' || st.seed_offset as found
            from contracts c cross join stream st where c.origin = 'seed' and c."offset" > st.seed_offset
          union all
          select r."offset", r.contract_id, 'in flight at the seed, but later than offset ' || st.seed_offset
            from reassignments r cross join stream st where r.incomplete and r."offset" > st.seed_offset`,
  },
  {
    id: 'I14',
    says: 'updates lie in a range that coverage calls complete',
    sql: `select u."offset", null::text as contract_id, 'an update in no range of coverage' as found
            from updates u
           where not exists (select from coverage c where u."offset" > c.from_offset
                                and (c.to_offset is null or u."offset" <= c.to_offset))`,
  },
  {
    id: 'I20',
    says: 'counts of contracts by template are those of the lifetimes',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'template ' || template_pk || ': counted ' || coalesce(a.activated, 0) || ' and '
                 || coalesce(a.deactivated, 0) || ' ended, found ' || coalesce(l.activated, 0) || ' and '
                 || coalesce(l.deactivated, 0) as found
            from active_counts a
            full join (select template_pk, count(*) as activated, count(deactivated_offset) as deactivated
                         from lifetimes group by 1) l using (template_pk)
           cross join stream st
           where coalesce(a.activated, 0) - coalesce(a.deactivated, 0)
                 <> coalesce(l.activated, 0) - coalesce(l.deactivated, 0)
              or st.kept_offset is null and coalesce(a.activated, 0) <> coalesce(l.activated, 0)
              or coalesce(a.activated, 0) < coalesce(l.activated, 0)`,
  },
  {
    id: 'I32',
    says: 'a lifetime that ended in a complete range was ended by an event',
    sql: `select l.deactivated_offset as "offset", l.contract_id, 'no event ends it at this offset' as found
            from lifetimes l cross join stream st
           where l.deactivated_offset > coalesce(st.kept_offset, 0)
             and exists (select from coverage c where l.deactivated_offset > c.from_offset
                            and (c.to_offset is null or l.deactivated_offset <= c.to_offset))
             and not exists (select from (${endings}) d
                              where d.contract_id = l.contract_id and d.synchronizer_pk = l.synchronizer_pk
                                and d."offset" = l.deactivated_offset)`,
  },
  {
    id: 'I33',
    says: 'the choice of an exercise is one of its template',
    sql: `select e."offset", e.contract_id, 'node ' || e.node_id || ' has a choice of another template' as found
            from exercises e join choices h using (choice_pk) where h.template_pk <> e.template_pk`,
  },
  {
    id: 'I34',
    says: 'a view belongs to an activation, of a template that is known to have the interface',
    sql: `select v."offset", v.contract_id, 'a view without its activation' as found
            from interface_views v
           where not exists (select from contracts c where c.contract_id = v.contract_id and c."offset" = v."offset")
          union all
          select v."offset", v.contract_id, 'template ' || c.template_pk || ' is not known to have interface ' || v.interface_pk
            from interface_views v join contracts c using (contract_id, "offset")
           where not exists (select from template_interfaces t
                              where t.template_pk = c.template_pk and t.interface_pk = v.interface_pk)`,
  },
  {
    id: 'I35',
    says: 'an arrival counts as its contract does, and only a seed brings workflows and contracts of its own',
    sql: `select c."offset", c.contract_id, 'the assign counts ' || coalesce(r.reassignment_counter::text, 'nothing')
                 || ', its contract ' || coalesce(c.reassignment_counter::text, 'nothing') as found
            from reassignments r join contracts c using (contract_id, "offset")
           where r.kind = 'assign' and not r.incomplete and c.origin = 'assign'
             and r.reassignment_counter is distinct from c.reassignment_counter
          union all
          select "offset", contract_id, 'a workflow id beside that of its update'
            from contracts where workflow_id is not null and origin <> 'seed'
          union all
          select "offset", contract_id, kind || ' with what only an arrival that a seed found in flight has'
            from reassignments
           where (workflow_id is not null or created_event is not null) and not (incomplete and kind = 'assign')`,
  },
  {
    id: 'I38',
    says: 'contracts are unknown from the offset on at which the participant lost a party of theirs',
    sql: `select l.unknown_since as "offset", l.contract_id,
                 case when l.unknown_since <= l.activated_offset or l.unknown_since >= l.deactivated_offset
                      then 'unknown since an offset at which it was not active'
                      else 'unknown, but no party of it left at this offset' end as found
            from lifetimes l cross join stream st
           where l.unknown_since is not null
             and (l.unknown_since <= l.activated_offset or l.unknown_since >= l.deactivated_offset
                  or not exists (select from topology_events y
                                   join updates u on u."offset" = y."offset" and u.synchronizer_pk = l.synchronizer_pk
                                   join contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
                                  where y."offset" = l.unknown_since and y.participant_id = st.participant_id
                                    and y.kind = 'ParticipantAuthorizationRevoked'
                                    and y.party_id = any (c.witness_parties)))
          union all
          select l.activated_offset, l.contract_id, 'active, although its only party left at offset ' || y."offset"
            from topology_events y
            join stream st on st.participant_id = y.participant_id
            join updates u on u."offset" = y."offset"
            join lifetimes l on l.synchronizer_pk = u.synchronizer_pk and l.deactivated_offset is null
                            and l.unknown_since is null and l.activated_offset < y."offset"
            join contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
                            and c.witness_parties = array[y.party_id]
           where y.kind = 'ParticipantAuthorizationRevoked' and y."offset" > st.seed_offset
             and not exists (select from topology_events b join updates v on v."offset" = b."offset"
                              where b.party_id = y.party_id and b.participant_id = y.participant_id
                                and v.synchronizer_pk = u.synchronizer_pk
                                and b.kind <> 'ParticipantAuthorizationRevoked' and b."offset" >= y."offset")`,
  },
];
