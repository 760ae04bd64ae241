import { describe, expect, it } from 'vitest';

import { databaseLabel } from '../../../src/store/connection/hosts.ts';
import { queryOpOfText } from '../../../src/store/connection/query-timing.ts';

describe('queryOpOfText()', () => {
  it.each([
    ['select 1', 'read'],
    ['\n  SELECT set_config($1, $2, false)', 'session'],
    ['select pg_try_advisory_lock(1)', 'session'],
    ['select pg_notify($1, $2)', 'session'],
    ['with a as (select 1) select * from a', 'read'],
    ['with ended as (update lifetimes set x = 1 returning 1) insert into y select 1', 'write'],
    ['insert into stream values (1)', 'write'],
    ['update stream set epoch = 1', 'write'],
    ['delete from updates', 'write'],
    ['begin', 'session'],
    ['commit', 'commit'],
    ['create view v as select 1', 'ddl'],
    ['comment on table t is null', 'ddl'],
    ['', 'ddl'],
  ])('classifies %j as %s', (text, queryKind) => {
    expect(queryOpOfText(text)).toBe(queryKind);
  });
});

describe('databaseLabel()', () => {
  it.each([
    ['postgres://user:pa@ss/word@db:5432/ledger?sslmode=require', 'db:5432/ledger'],
    ['postgresql://db/ledger', 'db/ledger'],
    ['postgres://user@h1:5432,h2:5432/ledger', 'h1:5432,h2:5432/ledger'],
    ['postgres://user:secret@db', 'db'],
    ['another text with a secret', ''],
  ])('shortens %s to "%s"', (url, databaseName) => {
    expect(databaseLabel(url)).toBe(databaseName);
  });
});
