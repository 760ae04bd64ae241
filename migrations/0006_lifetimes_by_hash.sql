-- A btree over ids of 138 characters was the dearest index of the writer, and every end of a lifetime entered it again.
-- No proof is lost: lifetimes are written with rows of contracts, whose key holds contract id and offset.
alter table lifetimes drop constraint lifetimes_pkey;
create index lifetimes_contract on lifetimes using hash (contract_id);
comment on index lifetimes_contract is 'Lifetimes of a contract.';
-- Without a key, a publication could not send changed rows, and would refuse them to the writer.
alter table lifetimes replica identity full;

-- What happened to a contract is asked for as often as what it is: these two had no way to it but reading everything.
create index archives_contract on archives using hash (contract_id);
comment on index archives_contract is 'Archive of a contract.';
create index reassignments_contract on reassignments using hash (contract_id);
comment on index reassignments_contract is 'Reassignments of a contract.';
