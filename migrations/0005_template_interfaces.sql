-- Which templates have views of which interfaces: what is active of an interface is then found among live contracts alone.

create table template_interfaces (
  template_pk integer not null,
  interface_pk integer not null,
  primary key (interface_pk, template_pk)
);
comment on table template_interfaces is 'Pairs of template and interface of which a view was stored. A pair once there stays.';
comment on column template_interfaces.template_pk is 'The template, see templates.';
comment on column template_interfaces.interface_pk is 'The interface, a row of templates too.';
insert into template_interfaces
  select distinct c.template_pk, v.interface_pk
    from interface_views v
    join contracts c on c.contract_id = v.contract_id and c."offset" = v."offset";
