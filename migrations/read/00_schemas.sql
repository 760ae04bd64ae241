-- Purpose of the schemas other than the storage schema.

comment on schema :typed is 'One view per template, choice and interface, generated from the packages: a column per field.';
comment on schema :pqs is 'Functions and views under the names of the Participant Query Store, over the same data.';
