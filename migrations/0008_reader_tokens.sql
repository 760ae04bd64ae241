-- Reader tokens for /changes and /query. Runs with search_path set to the schema of the stream and names no schema itself.

create table reader_tokens (
  id text primary key,
  hash bytea not null unique,
  role_name text not null,
  login_name text not null,
  name text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
comment on table reader_tokens is 'Tokens that authenticate HTTP clients. Row security has no policy: the owner and the writer see all rows, readers see none.';
comment on column reader_tokens.id is 'Id of the token, as printed by `ledger-indexer reader-token list`; not derived from the secret.';
comment on column reader_tokens.hash is 'SHA-256 of the token. The token itself is not stored.';
comment on column reader_tokens.role_name is 'Role of `grant-reader` whose rights and row security apply to holders of the token.';
comment on column reader_tokens.login_name is 'Login created for this token, a member only of role_name. The query page runs queries as this login. Without the login or its membership, the token is rejected.';
comment on column reader_tokens.name is 'Name of the holder, as given to `ledger-indexer reader-token create`; null if not given.';
comment on column reader_tokens.created_at is 'Time the token was created.';
comment on column reader_tokens.expires_at is 'Time from which the token is rejected; null if it never expires.';
comment on column reader_tokens.revoked_at is 'Time since which the token is rejected; null if not revoked.';
-- Other roles see no rows of this table, even if they have or get rights on all tables.
alter table reader_tokens enable row level security;
