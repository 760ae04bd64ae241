/**
 * Combinations that a demo must reject: the database of another application, or the data folder of another demo or of a
 * participant. The error must occur before anything is written.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { query, createTestDatabase } from '../support/database.ts';
import { writeParticipantFile, claimDataDir } from '../../src/cli/demo/data-dir.ts';
import { program, type ProcessResult } from '../cli/program.ts';

/** No server listens on this port. */
const ledger = 'http://127.0.0.1:9';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-folder-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const run = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<ProcessResult> =>
  program(args, { INDEXER_DATA_DIR: folder, INDEXER_HTTP_PORT: '0', ...env });

describe('DATABASE_URL without LEDGER_URL', () => {
  it.each([[['run']], [['backfill']]])('makes %s fail without changing the database', async (args) => {
    await using database = await createTestDatabase();
    const { code, stdout, stderr } = await run(args, { DATABASE_URL: database.url });
    expect(code).toBe(78);
    expect(stdout + stderr).toMatch(/LEDGER_URL_MISSING.*set LEDGER_URL to the JSON Ledger API/su);
    expect(await query(database.url, `select nspname from pg_namespace where nspname ~ '^(ledger|explore)'`)).toEqual(
      [],
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

it('DATABASE_URL without LEDGER_URL makes check fail', async () => {
  await using database = await createTestDatabase();
  const { code, stdout } = await run(['check'], { DATABASE_URL: database.url });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^✗ ledger +LEDGER_URL_MISSING: DATABASE_URL is set and LEDGER_URL is not/mu);
});

describe('LEDGER_URL without DATABASE_URL', () => {
  it.each([['DATABASE_URI'], ['POSTGRES_URL'], ['POSTGRES_URI'], ['POSTGRESQL_URL'], ['PG_URL'], ['PGURL']])(
    'makes run and check fail with a suggestion if %s is set',
    async (name) => {
      const env = { LEDGER_URL: ledger, [name]: 'postgres://me:hidden@127.0.0.1:1/mine' };
      const runResult = await run(['run'], env);
      expect(runResult.code).toBe(78);
      const checked = await run(['check'], env);
      expect(checked.code).toBe(1);
      for (const { stdout, stderr } of [runResult, checked]) {
        expect(stdout + stderr).toContain(`rename ${name} to DATABASE_URL`);
        expect(stdout + stderr).not.toContain('hidden');
      }
      expect(await readdir(folder)).toEqual([]);
    },
  );
});

describe('the data folder of a demo with seed 7', () => {
  beforeEach(() => writeFile(join(folder, 'sandbox-7.journal'), ''));

  it.each([
    ['a demo with another seed', ['demo'], {}, '--demo-seed 7'],
    ['a run without URLs', ['run'], {}, '--demo-seed 7'],
    ['a run of a participant', ['run'], { LEDGER_URL: ledger }, 'set DATABASE_URL'],
  ])('is rejected by %s', async (_caseName, args, env, remedy) => {
    const { code, stdout, stderr } = await run(args, env);
    expect(code).toBe(78);
    expect(stdout + stderr).toMatch(/DATA_DIR_TAKEN.*holds a demo with seed 7/su);
    expect(stdout + stderr).toContain(remedy);
    expect(await readdir(folder)).toEqual(['sandbox-7.journal']);
  });
});

describe('the data folder of a participant', () => {
  const usedUrl = 'http://me:hidden@ledger.example:7575/path';
  beforeEach(() => {
    claimDataDir(folder, { ledgerUrl: usedUrl });
  });

  it.each([[['demo']], [['run']]])('is rejected by %s with DATA_DIR_TAKEN', async (args) => {
    const { code, stdout, stderr } = await run(args, {});
    expect(code).toBe(78);
    expect(stdout + stderr).toMatch(/DATA_DIR_TAKEN.*participant at ledger\.example:7575.*set LEDGER_URL/su);
    expect(await readdir(folder)).toEqual(['participant']);
    expect(await readFile(join(folder, 'participant'), 'utf8')).not.toContain('hidden');
  });

  it('keeps its participant until another participant is confirmed', async () => {
    expect(claimDataDir(folder, { ledgerUrl: usedUrl })).toBeUndefined();
    expect(claimDataDir(folder, { ledgerUrl: ledger })).toBe('ledger.example:7575');
    expect(await readFile(join(folder, 'participant'), 'utf8')).toBe('ledger.example:7575\n');
    writeParticipantFile(folder, ledger);
    expect(claimDataDir(folder, { ledgerUrl: ledger })).toBeUndefined();
  });
});
