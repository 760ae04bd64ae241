-- Purpose of the schemas other than the storage schema.

comment on schema :typed is 'Generated views, one per template, choice and interface of the packages, with a column per field.';
comment on schema :pqs is 'Functions and views with the names of the Participant Query Store, over the same data.';
