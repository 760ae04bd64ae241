-- Labels of parties and instruments, for display only. No view, no function and no parameter of the API selects rows by a
-- label: labels are not unique, and a party chooses its own name in the name service.
-- Labels of files come before names of the name service (ANS, contracts Splice.Ans:AnsEntry). Any party can create such
-- contracts with a party of its own as dso, so that only contracts that the DSO signed give labels.

create or replace function :explore.ans_templates() returns setof integer
  language plpgsql stable parallel safe rows 1
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select t.template_pk
      from :storage.templates t
      left join :storage.packages p on p.package_id = t.package_id
     where t.module_name = 'Splice.Ans' and t.entity_name = 'AnsEntry'
       and coalesce(t.package_name, p.package_name) = 'splice-amulet-name-service';
end
$$;
comment on function :explore.ans_templates() is
  'Numbers of the template AnsEntry of splice-amulet-name-service, one for each version in stored rows.';

-- In PL/pgSQL, so that a role that was created before the table gets no labels of files, instead of an error.
create or replace function :explore.file_labels()
  returns table (party text, label text, source text, note text, is_dso boolean)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
as $$
begin
  if has_table_privilege(':storage.party_labels', 'select') then
    return query select l.party, l.label, l.source, l.note, l.is_dso from :storage.party_labels l;
  end if;
end
$$;
comment on function :explore.file_labels() is
  'Labels of parties that were loaded from files, of all sources. A reader limited to parties gets only labels of parties in rows that it sees.';

-- The dso has to be a signatory of the license: a party cannot sign for the DSO.
create or replace function :explore.label_dso() returns text
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  candidates text[] := array(select distinct f.party from :explore.file_labels() f where f.is_dso limit 2);
begin
  if candidates = '{}' then
    candidates := array(
      select distinct c.payload ->> 'dso'
        from (values ('ValidatorLicense', 'ValidatorLicense'), ('AmuletRules', 'AmuletRules')) n (module, entity)
       cross join lateral :explore.network_templates(n.module, n.entity) t (template_pk)
       cross join lateral (
               select v."offset", v.node_id, v.parties_pk
                 from (select * from :storage.live /*workers
                        where template_pk in (select :explore.network_templates('ValidatorLicense', 'ValidatorLicense')
                                              union all select :explore.network_templates('AmuletRules', 'AmuletRules'))
                       offset 0 workers*/) v
                where v.template_pk = t.template_pk and v.unhosted_since is null) l
        join :storage.contract_parties p on p.parties_pk = l.parties_pk
       cross join lateral (
               select r.payload
                 from (select * from :storage.contracts /*workers
                        where template_pk in (select :explore.network_templates('ValidatorLicense', 'ValidatorLicense')
                                              union all select :explore.network_templates('AmuletRules', 'AmuletRules'))
                       offset 0 workers*/) r
                where r."offset" = l."offset" and r.node_id = l.node_id
               offset 0) c
       where p.signatories @> array[c.payload ->> 'dso']
       limit 2);
  end if;
  return case when cardinality(candidates) = 1 then candidates[1] end;
end
$$;
comment on function :explore.label_dso() is
  'The DSO whose AnsEntry contracts give labels: the party that a label file names as the DSO, otherwise the only dso that signed an active ValidatorLicense or AmuletRules contract. Null if there is none, or more than one; then no AnsEntry gives a label.';

-- The fields are checked before they are converted, because the name of a package does not ensure their types. Names of
-- other characters than printable ASCII could look like another name, and give no label.
create or replace function :explore.ans_labels_of(payload jsonb, signatories text[], dso text, "time" timestamptz)
  returns table (party text, label text, expires_at timestamptz)
  language sql stable parallel safe rows 1
begin atomic
  select e.party, e.label, e.expires_at
    from (select payload ->> 'user' as party,
                 case when jsonb_typeof(payload -> 'name') = 'string' then payload ->> 'name' end as label,
                 case when payload ->> 'expiresAt' ~
                        '^[1-9]\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$'
                        or payload ->> 'expiresAt' ~
                        '^[1-9]\d(0[48]|[2468][048]|[13579][26])-02-29T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$'
                      then (payload ->> 'expiresAt')::timestamptz end as expires_at) e
   where e.party <> dso and payload ->> 'dso' = dso and signatories @> array[dso, e.party]
     and e.label ~ '^[!-~]([ -~]{0,98}[!-~])?$' and e.expires_at > "time";
end;
comment on function :explore.ans_labels_of(jsonb, text[], text, timestamptz) is
  'Label that an AnsEntry contract gives at a time: no row if the entry has expired, or if the DSO or the user is not a signatory.';

-- With one party, only the payloads of its entries are read.
create or replace function :explore.ans_labels("time" timestamptz, of_party text default null)
  returns table (party text, label text, expires_at timestamptz, contract_id text)
  language sql stable parallel safe rows 100
begin atomic
  select a.party, a.label, a.expires_at, id_text(l.contract_id)
    from :explore.ans_templates() t (template_pk)
   cross join lateral (
           select v."offset", v.node_id, v.contract_id, v.parties_pk
             from (select * from live /*workers
                    where template_pk in (select :explore.ans_templates()) offset 0 workers*/) v
            where v.template_pk = t.template_pk and v.unhosted_since is null) l
    join contract_parties p on p.parties_pk = l.parties_pk and (of_party is null or p.signatories @> array[of_party])
   cross join lateral (
           select r.payload
             from (select * from contracts /*workers
                    where template_pk in (select :explore.ans_templates()) offset 0 workers*/) r
            where r."offset" = l."offset" and r.node_id = l.node_id
           offset 0) c
   cross join lateral :explore.ans_labels_of(c.payload, p.signatories, (select :explore.label_dso()), "time") a
   where of_party is null or a.party = of_party;
end;
comment on function :explore.ans_labels(timestamptz, text) is
  'Labels by active AnsEntry contracts that have not expired at a time, of one party or of all parties with null. The contracts are those that are active now.';

create or replace view :explore.party_labels as
  select distinct on (l.party) l.party, l.label, l.kind, l.source, l.note, l.expires_at, l.contract_id,
         count(*) over (partition by l.party) as labels
    from (select f.party, f.label, 'file' as kind, f.source, f.note, null::timestamptz as expires_at, null as contract_id
            from :explore.file_labels() f
          union all
          select a.party, a.label, 'ans', null, null, a.expires_at, a.contract_id from :explore.ans_labels(now()) a) l
   order by l.party, l.kind = 'ans', l.source collate "C", l.label collate "C", l.contract_id collate "C";
comment on view :explore.party_labels is
  'Label of each party that has one, to be joined by party. A label of a file comes before a name of the name service (AnsEntry), then the alphabetical order of sources and labels decides. Use labels for display only, never to select rows: they are not unique. A reader limited to parties sees only labels of parties in rows that it sees. Works with any shape.';

create or replace function :explore.party_labels_at(at_offset bigint)
  returns setof :explore.party_labels
  language sql stable parallel safe rows 1000
begin atomic
  select distinct on (l.party) l.party, l.label, l.kind, l.source, l.note, l.expires_at, l.contract_id,
         count(*) over (partition by l.party)
    from (select f.party, f.label, 'file' as kind, f.source, f.note, null::timestamptz as expires_at, null as contract_id
            from :explore.file_labels() f
          union all
          select a.party, a.label, 'ans', null, null, a.expires_at, s.contract_id
            from (select :explore.known_offset(at_offset) as at_offset offset 0) k
           cross join lateral (
                   select distinct :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name) as template_fqn
                     from templates t
                    where k.at_offset is not null and t.template_pk in (select :explore.ans_templates())
                   offset 0) f
           cross join lateral :explore.states_at(k.at_offset, f.template_fqn) s
            join contract_parties p on p.parties_pk = s.parties_pk
            join (select * from contracts /*workers
                   where template_pk in (select :explore.ans_templates()) offset 0 workers*/) c
              on c."offset" = s.activated_offset and c.node_id = s.node_id
           cross join lateral :explore.ans_labels_of(c.payload, p.signatories, (select :explore.label_dso()),
                                                     (select coalesce(:explore.token_time(at_offset), now()))) a) l
   order by l.party, l.kind = 'ans', l.source collate "C", l.label collate "C", l.contract_id collate "C";
end;
comment on function :explore.party_labels_at(bigint) is
  'Labels of parties with the columns of party_labels, by AnsEntry contracts that were active right after the update with this offset and had not expired at its time. Labels of files have no history: the present ones are returned. Needs a known offset, see coverage; other offsets are rejected with SQLSTATE LI003.';

-- For one party, the labels of files are found by the primary key, and AnsEntry contracts are read only without one.
create or replace function :explore.party_label(party text) returns text
  language plpgsql stable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  found_label text;
begin
  if party is not null and has_table_privilege(':storage.party_labels', 'select') then
    select l.label into found_label
      from :storage.party_labels l where l.party = party_label.party
     order by l.source collate "C" limit 1;
  end if;
  if party is not null and found_label is null then
    select a.label into found_label
      from :explore.ans_labels(now(), party_label.party) a
     order by a.label collate "C", a.contract_id collate "C" limit 1;
  end if;
  return found_label;
end
$$;
comment on function :explore.party_label(text) is
  'Label of a party, as in view party_labels; null if it has none, or if the reader may not see it. For display only. For many rows, join the view, which is computed once.';

create or replace function :explore.file_instrument_labels()
  returns table (admin text, instrument_id text, name text, symbol text, decimals integer, source text, note text)
  language plpgsql stable parallel safe rows 1000
  set search_path = pg_catalog, pg_temp
as $$
begin
  if has_table_privilege(':storage.instrument_labels', 'select') then
    return query
      select l.admin, l.instrument_id, l.name, l.symbol, l.decimals, l.source, l.note from :storage.instrument_labels l;
  end if;
end
$$;
comment on function :explore.file_instrument_labels() is
  'Names, symbols and decimals of instruments that were loaded from files, of all sources. A reader limited to parties gets only instruments whose admin is in rows that it sees.';

create or replace view :explore.instrument_labels as
  select distinct on (f.admin, f.instrument_id) f.admin as instrument_admin, f.instrument_id, f.name, f.symbol, f.decimals,
         f.source, f.note
    from :explore.file_instrument_labels() f
   order by f.admin, f.instrument_id, f.source collate "C";
comment on view :explore.instrument_labels is
  'Name, symbol and decimals of each instrument that a label file names, to be joined by instrument_admin and instrument_id. The first source in alphabetical order counts. Use names and symbols for display only, never to select rows: they are not unique. Empty until a file is loaded, because the ledger has no such data.';

create or replace function :explore.instrument_label(instrument_admin text, instrument_id text) returns text
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  if has_table_privilege(':storage.instrument_labels', 'select') then
    return (select l.name from :storage.instrument_labels l
             where l.admin = instrument_label.instrument_admin and l.instrument_id = instrument_label.instrument_id
             order by l.source collate "C" limit 1);
  end if;
  return null;
end
$$;
comment on function :explore.instrument_label(text, text) is
  'Name of an instrument, as in view instrument_labels; null if it has none, or if the reader may not see it. For display only.';
