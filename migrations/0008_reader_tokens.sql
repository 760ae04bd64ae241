-- Tokens of readers at /changes and /query. Runs with search_path set to the schema of the stream; names no schema itself.

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
comment on table reader_tokens is 'Tokens by which readers are answered over HTTP. Row security without a policy: the owner and the writer see rows, readers none.';
comment on column reader_tokens.id is 'Name of the token, as `ledger-indexer reader-token list` shows it; tells nothing of its secret.';
comment on column reader_tokens.hash is 'SHA-256 of the token, which itself is kept nowhere.';
comment on column reader_tokens.role_name is 'Role of `grant-reader` whose rights and row security hold for whoever shows the token.';
comment on column reader_tokens.login_name is 'Login made for this token, a member of that role and of nothing else: questions of the query page are asked as it. Without it, or without its membership, the token is worth nothing.';
comment on column reader_tokens.name is 'Whose it is, as given to `ledger-indexer reader-token create`; null: nobody said.';
comment on column reader_tokens.created_at is 'When it was made.';
comment on column reader_tokens.expires_at is 'From then on it is refused; null: never.';
comment on column reader_tokens.revoked_at is 'Since then it is refused; null: it is not revoked.';
-- Whatever a role is granted on all tables, now or later, it sees no row here.
alter table reader_tokens enable row level security;
