/**
 * Functions in the schemas of the project: which ones run with the rights of the owner, who may call them, and whether
 * a reader gains rights through them.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import * as frames from '../support/frames.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { breachesOf } from './code-of-a-reader.ts';
import { fillWithTwoOwners } from './two-owners.ts';
import { canLimit } from '../support/skips/server-version.ts';

const prefix = `functions_${randomBytes(4).toString('hex')}`;
const limitedRole = `${prefix}_limited`;
const kinds = ['migrator', 'writer', 'redactor', 'reader'];
const schemas = `('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync')`;

let testDatabase: TestDatabase;
let folder: string;

interface Routine {
  readonly name: string;
  readonly owners: boolean;
  readonly language: string;
  readonly parsed: boolean;
  readonly path: string | null;
  readonly returns: string;
  /** Roles that may call the function, with `everybody` first. */
  readonly callers: readonly string[];
}

async function routines(): Promise<readonly Routine[]> {
  return (await query(
    testDatabase.url,
    `select p.oid::regprocedure::text as name, p.prosecdef as owners, l.lanname::text as language,
            p.prosqlbody is not null as parsed, p.prorettype::regtype::text as returns,
            (select substring(s from '^search_path=(.*)$') from unnest(p.proconfig) s where s like 'search_path=%') as path,
            array(select r.name from (values ('everybody', 'public'), ('writer', '${prefix}_writer'),
                    ('redactor', '${prefix}_redactor'), ('reader', '${prefix}_reader'), ('limited', '${limitedRole}')) r (name, role)
                   where has_function_privilege(r.role, p.oid, 'execute')) as callers
       from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ${schemas} order by 1`,
  )) as unknown as readonly Routine[];
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'functions-'));
  for (const kind of [...kinds, 'limited']) writeFileSync(join(folder, kind), 'secret\n');
  const env = { DATABASE_URL: testDatabase.url };
  await fillWithTwoOwners(testDatabase.url);
  await runCommand(grantRolesCommand, ['--prefix', prefix, '--password-dir', folder], env);
  const party = canLimit ? ['--party', frames.alice] : [];
  await runCommand(grantReaderCommand, [limitedRole, ...party, '--password-file', join(folder, 'limited')], env);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await testDatabase.drop();
  const roles = [...['owner', ...kinds].map((kind) => `${prefix}_${kind}`), limitedRole].join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
});

describe('functions in the project schemas', () => {
  it('include few security definer functions: one for the writer, two for reads of users of the participant', async () => {
    const ownerFunctions = (await routines()).filter(({ owners }) => owners);
    expect(ownerFunctions.map(({ name, path, returns, callers }) => ({ name, path, returns, callers }))).toEqual([
      {
        name: 'ledger.clear_unfinished_seed(bigint)',
        path: 'ledger, pg_temp',
        returns: 'boolean',
        callers: ['writer'],
      },
      // Their bodies are parsed, so no search path applies to them.
      { name: 'ledger.session_parties()', path: null, returns: 'text[]', callers: [] },
      { name: 'ledger.session_reads_all()', path: null, returns: 'boolean', callers: [] },
    ]);
  });

  it('can be called by PUBLIC or the redactor if listed, otherwise only by their owner', async () => {
    const routineList = await routines();
    const publicFunctions = routineList.filter(({ callers }) => callers.includes('everybody'));
    expect(publicFunctions.length).toBeGreaterThan(30);
    // A separate grant would remain after a change of the list.
    expect(publicFunctions.filter(({ callers }) => callers.length !== 5).map(({ name }) => name)).toEqual([]);
    const closedFunctions = routineList.filter(({ callers }) => !callers.includes('everybody'));
    const names = (caller: string | undefined): readonly string[] =>
      closedFunctions.filter(({ callers }) => callers[0] === caller && callers.length <= 1).map(({ name }) => name);
    expect(names('redactor').filter((name) => !/prun|redact|__(?:contract_state|re)/.test(name))).toEqual([]);
    expect(names(undefined)).toEqual([
      'ledger.filter_before_history()',
      'ledger.next_epoch()',
      'ledger.note_changed_contracts()',
      'ledger.note_changed_ends()',
      'ledger.note_changed_hosting()',
      'ledger.note_changed_offsets()',
      'ledger.note_ended_unhosted()',
      'ledger.note_moved_start()',
      'ledger.note_named_packages()',
      'ledger.note_new_implementations()',
      'ledger.only_remove()',
      'ledger.own_redaction()',
      'ledger.pruned_to_offset_in_history()',
      'ledger.redacted_stays()',
      'ledger.session_parties()',
      'ledger.session_reads_all()',
      'pqs.create_index_for_contract(text,text,text,text,text)',
    ]);
    expect(names('redactor').length + names('writer').length + names(undefined).length).toBe(closedFunctions.length);
  });

  it('include fourteen trigger functions that only the owner may call', async () => {
    const triggers = (await routines()).filter(({ returns }) => returns.endsWith('trigger'));
    expect(triggers.map(({ name, owners, callers }) => ({ name, owners, callers }))).toEqual([
      { name: 'ledger.filter_before_history()', owners: false, callers: [] },
      { name: 'ledger.next_epoch()', owners: false, callers: [] },
      { name: 'ledger.note_changed_contracts()', owners: false, callers: [] },
      { name: 'ledger.note_changed_ends()', owners: false, callers: [] },
      { name: 'ledger.note_changed_hosting()', owners: false, callers: [] },
      { name: 'ledger.note_changed_offsets()', owners: false, callers: [] },
      { name: 'ledger.note_ended_unhosted()', owners: false, callers: [] },
      { name: 'ledger.note_moved_start()', owners: false, callers: [] },
      { name: 'ledger.note_named_packages()', owners: false, callers: [] },
      { name: 'ledger.note_new_implementations()', owners: false, callers: [] },
      { name: 'ledger.only_remove()', owners: false, callers: [] },
      { name: 'ledger.own_redaction()', owners: false, callers: [] },
      { name: 'ledger.pruned_to_offset_in_history()', owners: false, callers: [] },
      { name: 'ledger.redacted_stays()', owners: false, callers: [] },
    ]);
  });

  it('resolve names independently of the search path of the caller', async () => {
    const pathRoutines = (await routines()).filter(
      ({ parsed: isParsed, path }) => !isParsed && path?.endsWith(', pg_temp') !== true,
    );
    expect(pathRoutines.map(({ name }) => name)).toEqual([
      // This function refers to no name.
      'explore.with_name(text)',
      // This function is called for every row, and every name in it is qualified.
      'pqs.with_nulls(jsonb,jsonb)',
    ]);
  });

  it('make grant-roles fail if another role owns a security definer function', async () => {
    await query(
      testDatabase.url,
      `create function typed.strange() returns int language sql security definer return 1;
       alter function typed.strange() owner to ${limitedRole}`,
    );
    const grantResult = runCommand(grantRolesCommand, ['--prefix', prefix], { DATABASE_URL: testDatabase.url });
    await expect(grantResult).rejects.toMatchObject({
      code: 'GRANT_ROLES_REFUSED',
      message: expect.stringContaining('typed.strange()') as unknown,
    });
    await query(testDatabase.url, 'drop function typed.strange()');
  });

  it('have no callers until a migration grants the right', async () => {
    const ownerRole = `${prefix}_owner`;
    await query(
      testDatabase.url,
      `set role ${ownerRole}; create function explore.later() returns int language sql return 1;
       create function ledger.later() returns int language sql return 1`,
    );
    const laterFunctions = (await routines()).filter(({ name }) => name.endsWith('.later()'));
    await query(testDatabase.url, 'drop function explore.later(), ledger.later()');
    expect(laterFunctions.map(({ name, callers }) => [name, ...callers])).toEqual([
      ['explore.later()'],
      ['ledger.later()'],
    ]);
  });
});

describe('code of a reader with temporary tables', () => {
  async function asLimited<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const url = new URL(testDatabase.url);
    const database = url.pathname.slice(1);
    await query(testDatabase.url, `grant temporary, create on database "${database}" to ${limitedRole}`);
    [url.username, url.password] = [limitedRole, 'secret'];
    const client = new Client({ connectionString: url.href });
    await client.connect();
    try {
      await client.query('set default_transaction_read_only = off');
      return await work(client);
    } finally {
      await client.end();
      await query(testDatabase.url, `revoke temporary, create on database "${database}" from ${limitedRole}`);
    }
  }

  it('runs only with the rights of that reader in every function and view', async () => {
    expect(await asLimited(breachesOf)).toEqual([]);
  });

  it('runs as the owner if a trigger function is a security definer', async () => {
    await query(
      testDatabase.url,
      `create function ledger.example() returns trigger language plpgsql security definer
         set search_path = ledger, pg_temp as
         $$ begin perform from new_rows n where n.template_pk = any (array[1]); return null; end $$;
       alter function ledger.example() owner to ${prefix}_owner;
       grant execute on function ledger.example() to public`,
    );
    const limitedBreaches = await asLimited(breachesOf);
    await query(testDatabase.url, 'drop function ledger.example()');
    expect(limitedBreaches).toContain(`ledger.example() runs it as ${prefix}_owner`);
  });
});
