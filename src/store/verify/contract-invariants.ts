/**
 * Rules about contracts. Each contract is created once, ends at most once, and is active exactly between these two
 * events.
 */
import type { Invariant } from './invariant.ts';

/**
 * SQL: events that end a contract on a synchronizer, if the ledger returned them, with the columns in which the end is
 * stored.
 */
const endings = `
  select e."offset", e.contract_id, u.synchronizer_pk, 'exercise ' || e.node_id as event, 'a' as ended_by, e.node_id,
         coalesce(u.effective_at, u.record_time) as at
    from exercises e join updates u using ("offset") where e.consuming and e.acs_delta is distinct from false
  union all
  select a."offset", a.contract_id, u.synchronizer_pk, 'archive ' || a.node_id, 'a', a.node_id,
         coalesce(u.effective_at, u.record_time)
    from archives a join updates u using ("offset")
  union all
  select r."offset", r.contract_id, r.source_pk, 'unassign', 'r', null, u.record_time
    from reassignments r left join updates u using ("offset") where r.kind = 'u'`;

/** SQL: live and ended contracts; `ended_by` is w for contracts that were only witnessed. */
const states = `
  select "offset", node_id, contract_id, synchronizer_pk, template_pk, parties_pk, null::"char" as ended_by from live
  union all
  select "offset", node_id, contract_id, synchronizer_pk, template_pk, parties_pk, ended_by from ended`;

/** SQL: live and ended contracts without those that were only witnessed. */
const lifetimes = `
  select "offset", contract_id, synchronizer_pk, null::bigint as ended_offset from live
  union all
  select "offset", contract_id, synchronizer_pk, ended_offset from ended where ended_by <> 'w'`;

/** SQL: parties that left the participant, with the offset. */
const departures = `
  select y."offset", y.party_id, u.synchronizer_pk
    from topology_events y join updates u on u."offset" = y."offset"
   where y.kind = 'ParticipantAuthorizationRevoked' and y.participant_id = (select participant_id from stream)`;

/**
 * SQL: the end of a subselect. It causes the rows to be collected before they are compared, even if they are on several
 * servers. This is needed because a contract is compared with rows at other offsets, which may be on other servers.
 */
const collectFirst = 'offset 0';

/** Rules I08 to I14, I20, I32 to I35, I38 and I39. */
export const contractInvariants: readonly Invariant[] = [
  {
    id: 'I08',
    says: 'a contract is created once',
    sql: `select max("offset") as "offset", id_text(contract_id) as contract_id,
                 count(*) || ' creates from offset ' || min("offset") as found
            from contracts where origin = 'c' group by contracts.contract_id having count(*) > 1`,
  },
  {
    id: 'I09',
    says: 'a contract is archived once',
    sql: `select max("offset") as "offset", id_text(a.contract_id) as contract_id,
                 count(*) || ' archives from offset ' || min("offset") as found
            from (select "offset", contract_id from exercises where consuming
                  union all select "offset", contract_id from archives) a
           group by a.contract_id having count(*) > 1`,
  },
  {
    id: 'I10',
    says: 'an archive or unassign ends the lifetime of its contract at its offset',
    sql: `select d."offset", id_text(d.contract_id) as contract_id, d.event || ' ended no lifetime' as found
            from (${endings}) d
           where exists (select from (${lifetimes}) l where l.contract_id = d.contract_id
                            and l.synchronizer_pk = d.synchronizer_pk and l."offset" <= d."offset")
             and not exists (select from (${lifetimes}) l where l.contract_id = d.contract_id
                                and l.synchronizer_pk = d.synchronizer_pk and l.ended_offset = d."offset")`,
  },
  {
    id: 'I11',
    says: 'each contract is live or has ended, once, and both places agree',
    sql: `select s."offset", id_text(s.contract_id) as contract_id, 'live or ended without its contract' as found
            from (${states}) s
           where not exists (select from contracts c
                              where c."offset" = s."offset" and c.node_id = s.node_id
                                and c.contract_id = s.contract_id and c.synchronizer_pk = s.synchronizer_pk
                                and c.template_pk = s.template_pk and c.parties_pk = s.parties_pk)
          union all
          select c."offset", id_text(c.contract_id), count(s."offset") || ' times live or ended'
            from contracts c left join (${states}) s using ("offset", node_id)
           group by c."offset", c.node_id having count(s."offset") <> 1
          union all
          select c."offset", id_text(c.contract_id), 'witnessed only, although it was activated'
            from contracts c join ended e using ("offset", node_id)
           where e.ended_by = 'w' and (c.acs_delta or c.origin <> 'c')`,
  },
  {
    id: 'I12',
    says: 'a contract ends after it began',
    sql: `select ended_offset as "offset", id_text(contract_id) as contract_id, 'ends before offset ' || "offset" as found
            from ended where ended_offset < "offset"
          union all
          select e."offset", id_text(e.contract_id), 'archived by node ' || e.node_id || ', created by node ' || c.node_id
            from exercises e join contracts c on c.contract_id = e.contract_id and c."offset" = e."offset"
           where e.consuming and c.origin <> 's' and e.node_id <= c.node_id`,
  },
  {
    id: 'I13',
    says: 'contracts of a seed began at or before the seed, or at or before the offset at which the filter was extended',
    sql: `with read_at as (
            select greatest(st.seed_offset, (select max(from_offset) from coverage where origin = 'filter-extend'),
                            (select max(from_offset) from filter_additions)) as "offset"
              from stream st)
          select c."offset", id_text(c.contract_id) as contract_id,
                 'seeded, but activated after offset ' || a."offset" as found
            from contracts c cross join read_at a where c.origin = 's' and c."offset" > a."offset"
          union all
          select r."offset", id_text(r.contract_id), 'in flight at the seed, but later than offset ' || a."offset"
            from reassignments r cross join read_at a where r.incomplete and r."offset" > a."offset"`,
  },
  {
    id: 'I14',
    says: 'updates are in a range that is complete in coverage',
    sql: `select u."offset", null::text as contract_id, 'an update in no range of coverage' as found
            from updates u
           where not exists (select from coverage c where u."offset" > c.from_offset
                                and (c.to_offset is null or u."offset" <= c.to_offset))`,
  },
  {
    id: 'I20',
    says: 'counts of contracts by template match the lifetimes',
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
              or st.pruned_to_offset is null and coalesce(a.activated, 0) <> coalesce(l.activated, 0)
              or coalesce(a.activated, 0) < coalesce(l.activated, 0)`,
  },
  {
    id: 'I32',
    says: 'a lifetime that ended in a complete range was ended by an event',
    sql: `select l.ended_offset as "offset", id_text(l.contract_id) as contract_id, 'no event ends it at this offset' as found
            from (${lifetimes} ${collectFirst}) l
           where l.ended_offset > coalesce((select pruned_to_offset from stream), 0)
             and exists (select from coverage c where l.ended_offset > c.from_offset
                            and (c.to_offset is null or l.ended_offset <= c.to_offset))
             and not exists (select from (${endings} ${collectFirst}) d
                              where d.contract_id = l.contract_id and d.synchronizer_pk = l.synchronizer_pk
                                and d."offset" = l.ended_offset)`,
  },
  {
    id: 'I33',
    says: 'the choice of an exercise is one of its template',
    sql: `select e."offset", id_text(e.contract_id) as contract_id, 'node ' || e.node_id || ' has a choice of another template' as found
            from exercises e join choices h using (choice_pk) where h.template_pk <> e.template_pk`,
  },
  {
    id: 'I34',
    says: 'a view belongs to an activation, of a template that is known to have the interface',
    sql: `select v."offset", null as contract_id, 'a view without its activation, at node ' || v.node_id as found
            from interface_views v
           where not exists (select from contracts c where c."offset" = v."offset" and c.node_id = v.node_id)
          union all
          select v."offset", id_text(c.contract_id),
                 'template ' || c.template_pk || ' is not known to have interface ' || v.interface_pk
            from interface_views v join contracts c using ("offset", node_id)
           where not exists (select from template_interfaces t
                              where t.template_pk = c.template_pk and t.interface_pk = v.interface_pk)`,
  },
  {
    id: 'I35',
    says: 'an arrival counts as its contract does, and only a seed brings workflows and contracts of its own',
    sql: `select c."offset", id_text(c.contract_id) as contract_id, 'the assign counts ' || coalesce(r.reassignment_counter::text, 'nothing')
                 || ', its contract ' || coalesce(c.reassignment_counter::text, 'nothing') as found
            from reassignments r join contracts c using (contract_id, "offset")
           where r.kind = 'a' and not r.incomplete and c.origin = 'a'
             and r.reassignment_counter is distinct from c.reassignment_counter
          union all
          select "offset", id_text(contract_id), 'a workflow id in addition to that of its update'
            from contracts where workflow_id is not null and origin <> 's'
          union all
          select "offset", contract_id, kind || ' with what only an arrival that a seed found in flight has'
            from decoded_reassignments
           where (workflow_id is not null or created_event is not null) and not (incomplete and kind = 'assign')`,
  },
  {
    id: 'I38',
    says: 'contracts are unhosted from the offset at which the participant lost one of their parties',
    sql: `select l.unhosted_since as "offset", l.contract_id,
                 case when l.unhosted_since <= l.activated_offset or l.unhosted_since >= l.deactivated_offset
                      then 'unhosted since an offset at which it was not active'
                      else 'unhosted, but none of its parties left at this offset' end as found
            from (select * from lifetimes where unhosted_since is not null ${collectFirst}) l
           where l.unhosted_since <= l.activated_offset or l.unhosted_since >= l.deactivated_offset
              or not exists (select from (${departures} ${collectFirst}) y
                               join contract_parties p on p.parties_pk = l.parties_pk
                              where y."offset" = l.unhosted_since and y.synchronizer_pk = l.synchronizer_pk
                                and y.party_id = any (p.witness_parties))
          union all
          select l."offset", id_text(l.contract_id), 'active, although its only party left at offset ' || y."offset"
            from (select d.* from (${departures} ${collectFirst}) d
                   where d."offset" > (select seed_offset from stream)
                     and not exists (
                           select from (select b."offset", b.party_id, v.synchronizer_pk
                                          from topology_events b join updates v on v."offset" = b."offset"
                                         where b.participant_id = (select participant_id from stream)
                                           and b.kind <> 'ParticipantAuthorizationRevoked' ${collectFirst}) b
                            where b.party_id = d.party_id and b.synchronizer_pk = d.synchronizer_pk
                              and b."offset" >= d."offset") ${collectFirst}) y
            join live l on l.synchronizer_pk = y.synchronizer_pk and l.unhosted_since is null and l."offset" < y."offset"
            join contract_parties p on p.parties_pk = l.parties_pk and p.witness_parties = array[y.party_id]`,
  },
  {
    id: 'I39',
    says: 'the stored end of a contract matches its event',
    sql: `select ended_offset as "offset", id_text(contract_id) as contract_id, 'not of class ' || class as found
            from ended
           where class is distinct from case when ended_by = 'w' then -1
                                             when ended_offset >= "offset" then lifetime_class("offset", ended_offset) end
          union all
          select ended_offset, id_text(contract_id), case ended_by when 'w' then 'witnessed only' else 'ended unseen' end
                 || ', and yet it is said how it ended'
            from ended
           where ended_by in ('w', 'e') and (ended_at is not null or ended_node_id is not null)
              or ended_by = 'w' and (ended_offset <> "offset" or unhosted_since is not null)
          union all
          select d."offset", id_text(d.contract_id), d.event || ' ended it, and yet another end is kept'
            from ended e
            join (${endings}) d on d.contract_id = e.contract_id and d.synchronizer_pk = e.synchronizer_pk
                               and d."offset" = e.ended_offset
           where e.ended_by <> 'w'
             and (e.ended_by <> d.ended_by::"char" or e.ended_node_id is distinct from d.node_id
                  or e.ended_at is distinct from d.at)`,
  },
];
