-- Names of templates, interfaces and choices, and the numbers that refer to them.

create or replace view :pqs.__names as
  select t.template_pk, coalesce(t.package_name, p.package_name, t.package_id) as package_name, t.module_name,
         t.entity_name, t.package_id, p.package_version
    from templates t
    left join packages p on p.package_id = t.package_id;
comment on view :pqs.__names is 'Templates and interfaces that stored rows use, one row per package version.';
comment on column :pqs.__names.template_pk is 'Key of the template or interface (templates.template_pk).';
comment on column :pqs.__names.package_name is 'Package name; the package id if no name is known.';
comment on column :pqs.__names.module_name is 'Module, dotted.';
comment on column :pqs.__names.entity_name is 'Name of the template or interface within the module.';
comment on column :pqs.__names.package_id is 'Package id.';
comment on column :pqs.__names.package_version is 'Package version; null if the package was not read.';

create or replace function :pqs.__is_defined(qname text) returns boolean
  language sql stable parallel safe
begin atomic
  select exists (
    select from packages p
     cross join lateral jsonb_array_elements((p.model -> 'templates') || (p.model -> 'interfaces')) d
     cross join lateral (select d ->> 'entityName' as entity, concat_ws(':', d ->> 'moduleName', d ->> 'entityName') as name) n
     where qname in (n.entity, n.name, concat_ws(':', p.package_name, n.name), concat_ws(':', p.package_id, n.name)));
end;
comment on function :pqs.__is_defined(text) is
  'Whether a stored package defines a template or interface of this name, even if no stored row uses it.';

create or replace function :pqs.__is_choice_defined(qname text) returns boolean
  language sql stable parallel safe
begin atomic
  select exists (
    select from packages p
     cross join lateral jsonb_array_elements((p.model -> 'templates') || (p.model -> 'interfaces')) d
     cross join lateral (
             select c ->> 'name' as choice from jsonb_array_elements(d -> 'choices') c union all select 'Archive') c
     cross join lateral (
             select concat_ws(':', d ->> 'entityName', c.choice) as entity,
                    concat_ws(':', d ->> 'moduleName', d ->> 'entityName', c.choice) as name) n
     where qname in (c.choice, n.entity, n.name, concat_ws(':', p.package_name, n.name),
                     concat_ws(':', p.package_id, n.name)));
end;
comment on function :pqs.__is_choice_defined(text) is
  'Whether a stored package defines a choice of this name, even if it was never exercised.';

create or replace function :pqs.__type_pks(qname text) returns integer[]
  language plpgsql stable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted text := ltrim(qname, '#');
  entity text := substring(wanted from '[^:]*$');
  found integer[];
  names integer;
  has_nameless boolean;
begin
  if wanted is null then
    return array(select t.template_pk from :storage.templates t);
  end if;
  -- A fully qualified name, as applications write it, is found without reading packages, unless some package could define a
  -- name that has no package name.
  select array_agg(t.template_pk), bool_or(t.package_name is null) into found, has_nameless
    from :storage.templates t
   where t.entity_name = entity
     and (t.package_name is null or wanted = t.package_name || ':' || t.module_name || ':' || t.entity_name);
  if not has_nameless then
    return found;
  end if;
  select array_agg(n.template_pk), count(distinct (n.package_name, n.module_name, n.entity_name))
    into found, names
    from :pqs.__names n
   where n.entity_name = entity
     and wanted in (n.entity_name, concat_ws(':', n.module_name, n.entity_name),
                    concat_ws(':', n.package_name, n.module_name, n.entity_name),
                    concat_ws(':', n.package_id, n.module_name, n.entity_name));
  if names > 1 then
    raise exception 'Ambiguous identifier: %', qname
      using errcode = 'ambiguous_parameter', hint = 'Write it as package:Module:Entity.';
  elsif names = 0 and not :pqs.__is_defined(wanted) then
    raise exception 'Identifier not found: %', qname
      using errcode = 'undefined_object', hint = 'List the names with: select aliases from __contract_tpe.';
  end if;
  return coalesce(found, '{}');
end
$$;
comment on function :pqs.__type_pks(text) is
  'Numbers of all versions of a template or interface, given as package:Module:Entity, Module:Entity or Entity, optionally with a leading #; null means all. Unknown and ambiguous names are errors. For a name that a package defines but no stored row uses, the list is empty.';

create or replace function :pqs.__implementing_pks(qname text) returns integer[]
  language plpgsql stable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  interfaces integer[] := :pqs.__type_pks(qname);
begin
  return array(select i.template_pk from :storage.template_interfaces i where i.interface_pk = any (interfaces));
end
$$;
comment on function :pqs.__implementing_pks(text) is
  'Keys of the templates that have views of an interface; empty if the name is that of a template.';

-- The result never changes: a name that means a template never comes to mean an interface, and if it comes to mean a
-- second object, __type_pks rejects it. So the function is immutable, and the planner may evaluate it once and leave
-- out the parts of a query that find nothing. For a name that is not known yet the planner keeps all parts, which find
-- the same rows. Events name interfaces only by package id, so an entity with a package name of its own is a template.
create or replace function :pqs.__is_template(qname text) returns boolean
  language plpgsql immutable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted text := ltrim(qname, '#');
begin
  return exists (
    select from :storage.templates t
     where t.entity_name = substring(wanted from '[^:]*$') and t.package_name is not null
       and wanted in (t.entity_name, t.module_name || ':' || t.entity_name,
                      t.package_name || ':' || t.module_name || ':' || t.entity_name,
                      t.package_id || ':' || t.module_name || ':' || t.entity_name));
end
$$;
comment on function :pqs.__is_template(text) is 'Whether a name means a stored template; false for null.';

create or replace function :pqs.__is_interface(qname text) returns boolean
  language plpgsql immutable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted text := ltrim(qname, '#');
begin
  return not :pqs.__is_template(qname) and exists (
    select from :storage.template_interfaces i
      join :pqs.__names n on n.template_pk = i.interface_pk
     where n.entity_name = substring(wanted from '[^:]*$')
       and wanted in (n.entity_name, n.module_name || ':' || n.entity_name,
                      n.package_name || ':' || n.module_name || ':' || n.entity_name,
                      n.package_id || ':' || n.module_name || ':' || n.entity_name));
end
$$;
comment on function :pqs.__is_interface(text) is 'Whether a name means a stored interface; false for null.';

create or replace function :pqs.__payload_types(qname text) returns text[]
  language plpgsql immutable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
begin
  return case when :pqs.__is_template(qname) then array['template'] when :pqs.__is_interface(qname) then array['interface']
              else array['template', 'interface'] end;
end
$$;
comment on function :pqs.__payload_types(text) is 'Kinds that a name can mean: template, interface, or both while the name is not known.';

create or replace view :pqs.__choice_names as
  select h.choice_pk, n.package_name, n.module_name, n.entity_name, n.package_id, h.choice, h.template_pk, h.interface_pk
    from choices h
    join :pqs.__names n on n.template_pk = coalesce(nullif(h.interface_pk, 0), h.template_pk);
comment on view :pqs.__choice_names is
  'Choices that were exercised, under the interface that defines them, otherwise under the template.';
comment on column :pqs.__choice_names.choice_pk is 'Key of the choice (choices.choice_pk).';
comment on column :pqs.__choice_names.package_name is 'Package name of the template or interface.';
comment on column :pqs.__choice_names.module_name is 'Module of the template or interface, dotted.';
comment on column :pqs.__choice_names.entity_name is 'Name of the template or interface within the module.';
comment on column :pqs.__choice_names.package_id is 'Package id of the template or interface.';
comment on column :pqs.__choice_names.choice is 'Choice name.';
comment on column :pqs.__choice_names.template_pk is 'Key of the template on which the choice was exercised.';
comment on column :pqs.__choice_names.interface_pk is 'Key of the interface; 0 for a choice of the template itself.';

create or replace function :pqs.__choice_pks(qname text) returns integer[]
  language plpgsql stable parallel safe cost 1000
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted text := ltrim(qname, '#');
  found integer[];
  names integer;
begin
  if wanted is null then
    return array(select h.choice_pk from :storage.choices h);
  end if;
  select array_agg(n.choice_pk), count(distinct (n.package_name, n.module_name, n.entity_name, n.choice))
    into found, names
    from :pqs.__choice_names n
   where wanted in (n.choice, concat_ws(':', n.entity_name, n.choice),
                    concat_ws(':', n.module_name, n.entity_name, n.choice),
                    concat_ws(':', n.package_name, n.module_name, n.entity_name, n.choice),
                    concat_ws(':', n.package_id, n.module_name, n.entity_name, n.choice));
  if names > 1 then
    raise exception 'Ambiguous identifier: %', qname
      using errcode = 'ambiguous_parameter', hint = 'Write it as package:Module:Entity:Choice.';
  elsif names = 0 and not :pqs.__is_choice_defined(wanted) then
    raise exception 'Identifier not found: %', qname
      using errcode = 'undefined_object', hint = 'List the names with: select aliases from __exercise_tpe.';
  end if;
  return coalesce(found, '{}');
end
$$;
comment on function :pqs.__choice_pks(text) is
  'Numbers of a choice on all versions of its template, given as package:Module:Entity:Choice, Module:Entity:Choice, Entity:Choice or Choice; null means all choices. Unknown and ambiguous names are errors.';

-- Called for every row, and setting a search path would cost a third of the call. So every name in the body has its
-- schema, including types and operators, and parentheses define the precedence.
create or replace function :pqs.with_nulls(value jsonb, omitted jsonb) returns jsonb
  language plpgsql immutable parallel safe
as $$
declare
  kind pg_catalog.text := pg_catalog.jsonb_typeof(value);
  completed pg_catalog.jsonb;
  name pg_catalog.text;
  inner_omitted pg_catalog.jsonb;
begin
  if (omitted operator(pg_catalog.?) 'nulls') and (kind operator(pg_catalog.=) 'object') then
    completed := (omitted operator(pg_catalog.->) 'nulls') operator(pg_catalog.||) value;
    for name, inner_omitted in
      select f.key, f.value from pg_catalog.jsonb_each(omitted operator(pg_catalog.->) 'fields') f
    loop
      if (completed operator(pg_catalog.->) name) operator(pg_catalog.<>) 'null' then
        completed := completed operator(pg_catalog.||) pg_catalog.jsonb_build_object(
          name, :pqs.with_nulls(completed operator(pg_catalog.->) name, inner_omitted));
      end if;
    end loop;
    return completed;
  elsif (omitted operator(pg_catalog.?) 'items') and (kind operator(pg_catalog.=) 'array') then
    return (select coalesce(pg_catalog.jsonb_agg(:pqs.with_nulls(i.item, omitted operator(pg_catalog.->) 'items')
                                                 order by i.place), '[]')
              from pg_catalog.jsonb_array_elements(value) with ordinality i (item, place));
  elsif (omitted operator(pg_catalog.?) 'entries') and (kind operator(pg_catalog.=) 'array') then
    inner_omitted := omitted operator(pg_catalog.->) 'entries';
    return (select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(
                     :pqs.with_nulls(i.item operator(pg_catalog.->) 0, inner_omitted operator(pg_catalog.->) 0),
                     :pqs.with_nulls(i.item operator(pg_catalog.->) 1, inner_omitted operator(pg_catalog.->) 1))
                   order by i.place), '[]')
              from pg_catalog.jsonb_array_elements(value) with ordinality i (item, place));
  elsif (omitted operator(pg_catalog.?) 'values') and (kind operator(pg_catalog.=) 'object') then
    return (select coalesce(pg_catalog.jsonb_object_agg(
                     f.key, :pqs.with_nulls(f.value, omitted operator(pg_catalog.->) 'values')), '{}')
              from pg_catalog.jsonb_each(value) f);
  elsif ((omitted operator(pg_catalog.->) 'cases') operator(pg_catalog.?) (value operator(pg_catalog.->>) 'tag'))
    and (kind operator(pg_catalog.=) 'object') then
    inner_omitted := (omitted operator(pg_catalog.->) 'cases')
                     operator(pg_catalog.->) (value operator(pg_catalog.->>) 'tag');
    return value operator(pg_catalog.||) pg_catalog.jsonb_build_object(
      'value', :pqs.with_nulls(value operator(pg_catalog.->) 'value', inner_omitted));
  end if;
  return value;
end
$$;
comment on function :pqs.with_nulls(jsonb, jsonb) is
  'Value with explicit nulls, as PQS stores them, for fields that the ledger omitted because they are None. The second argument is omitted_fields.fields; if it is null or does not match the value, the value is returned unchanged.';
