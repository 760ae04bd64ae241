/** Tests which roles may call the PQS functions that remove data, and the later results of other functions. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { verifyCommand } from '../../src/cli/verify/verify.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { createRetentionWorld, type RetentionWorld } from './retention-world.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';

const prefix = `retention_${randomBytes(4).toString('hex')}`;
let world: RetentionWorld;
let folder: string;
let middle = 0;
beforeAll(async () => {
  world = await createRetentionWorld(5, 500);
  await world.fill('ledger');
  middle = Math.floor(world.sandbox.ledger.ledgerEnd() / 2);
  folder = mkdtempSync(join(tmpdir(), 'retention-'));
  for (const kind of ['migrator', 'writer', 'redactor', 'reader']) writeFileSync(join(folder, kind), 'secret\n');
  const env = { DATABASE_URL: world.url };
  await runCommand(grantRolesCommand, ['--prefix', prefix, '--password-dir', folder], env);
}, 120_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
  const roles = ['owner', 'migrator', 'writer', 'redactor', 'reader', 'limited'].map((kind) => `${prefix}_${kind}`);
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles.join(', ')}`);
});

function urlOf(kind: string): string {
  const url = new URL(world.url);
  url.username = `${prefix}_${kind}`;
  url.password = 'secret';
  return url.href;
}

async function readArchived(): Promise<string> {
  const [row] = await world.query<{ id: string }>(
    `select l.contract_id as id from ledger.lifetimes l join ledger.decoded_contracts c using (contract_id)
      where l.deactivated_offset > $1 and c.payload is not null order by 1 limit 1`,
    [middle],
  );
  return row?.id ?? '';
}

describe('redact_contract() and redact_exercise()', () => {
  it('fail for reader roles', async () => {
    const id = await readArchived();
    const exercise = `(select (max("offset"), 0)::pqs.event_id from ledger.exercises where node_id = 0)`;
    const calls = [`redact_contract('${id}', 'r')`, `redact_exercise(${exercise}, 'r')`, 'prune_archived_to_offset(1)'];
    for (const call of calls) {
      await expect(query(urlOf('reader'), `select pqs.${call}`)).rejects.toThrow(/permission denied|read-only/);
    }
  });

  it('remove archived contents as the redactor role, and return the number of rows', async () => {
    const id = await readArchived();
    expect(await query(urlOf('redactor'), `select pqs.redact_contract('${id}', 'r-1') as rows`)).toEqual([{ rows: 1 }]);
    expect(await query(urlOf('redactor'), `select pqs.redact_contract('${id}', 'r-2') as rows`)).toEqual([{ rows: 0 }]);
    expect(await query(urlOf('redactor'), `select pqs.redact_contract('nobody', 'r-2') as rows`)).toEqual([
      { rows: 0 },
    ]);
    const rows = await query(world.url, `select payload, redaction_id from pqs.lookup_contract('${id}')`);
    expect(rows).toEqual([{ payload: null, redaction_id: 'r-1' }]);
    const redactedRows = await query(
      world.url,
      `select payload, redaction_id from pqs.archives() where contract_id = '${id}'`,
    );
    expect(redactedRows).toEqual(rows);
    const [audit] = await world.query(`select subject, contract_id, requested_by from ledger.redactions`);
    expect(audit).toEqual({ subject: 'contract', contract_id: id, requested_by: `${prefix}_redactor` });
  });

  it('reject an active contract', async () => {
    const [row] = await world.query<{ id: string }>(
      'select contract_id as id from ledger.lifetimes where deactivated_offset is null order by 1 limit 1',
    );
    await expect(query(world.url, `select pqs.redact_contract('${row?.id ?? ''}', 'r')`)).rejects.toThrow('is active');
  });

  it('remove argument and result of one exercise', async () => {
    const [row] = await world.query<{ at: string }>(
      `select '(' || "offset" || ',' || node_id || ')' as at from ledger.exercises where "offset" > $1 order by 1 limit 1`,
      [middle],
    );
    const event = `'${row?.at ?? ''}'::pqs.event_id`;
    await query(urlOf('redactor'), `select pqs.redact_exercise(${event}, 'r-3')`);
    const rows = await query(
      world.url,
      `select argument, result, redaction_id from pqs.exercises() where exercise_event_id = ${event}`,
    );
    expect(rows).toEqual([{ argument: null, result: null, redaction_id: 'r-3' }]);
  });

  it('need the same rights as the commands redact and prune', async () => {
    const env = { DATABASE_URL: urlOf('redactor') };
    const lines: string[] = [];
    const { signal } = new AbortController();
    const print = (line: string): unknown => lines.push(line);
    await runCommand(
      redactCommand,
      ['contract', await readArchived(), '--reason', 'r', '--with-exercises', '--yes'],
      env,
      {
        stop: signal,
        print,
      },
    );
    expect(lines[0]).toMatch(/^redaction [0-9a-f-]{36}: contents removed$/);
    await runCommand(pruneCommand, ['--before', '1', '--yes'], env, { stop: signal, print });
    const reader = { DATABASE_URL: urlOf('reader') };
    await expect(
      runCommand(pruneCommand, ['--before', '1', '--yes'], reader, { stop: signal, print }),
    ).rejects.toHaveProperty('code');
  });
});

describe('prune_archived_to_offset() and its dry run', () => {
  it('return the same counts, and the removal raises the oldest offset', async () => {
    await world.query('set search_path = pqs');
    const activeSql = 'select contract_id, payload, created_at_offset, update_id from active() order by 1, 2';
    const activeBefore = await world.query(activeSql);
    const plannedPrune = await world.query(`select * from prune_archived_to_offset_dry_run(${middle})`);
    const [resultRow] = await query(urlOf('redactor'), `select * from pqs.prune_archived_to_offset(${middle})`);
    expect(plannedPrune).toEqual([resultRow]);
    expect(Number(resultRow?.['deleted_contracts'])).toBeGreaterThan(20);
    expect(
      await world.query('select pruned_offset() as p, oldest_offset() as o, (oldest_checkpoint())."offset" as c'),
    ).toEqual([{ p: String(middle), o: String(middle), c: String(middle) }]);
    expect(await world.query(activeSql)).toEqual(activeBefore);
    const [keptCount] = await world.query(
      `select count(*) filter (where created_at_offset <= $1) > 0 as old,
              bool_and(archived_at_offset is null or archived_at_offset > $1) as alive from creates()`,
      [middle],
    );
    expect(keptCount).toEqual({ old: true, alive: true });
    await expect(world.query(`select * from active(null, ${middle - 1})`)).rejects.toThrow(
      'before the oldest known offset',
    );
    await expect(world.query(`select validate_offset_exists(${middle - 1})`)).rejects.toThrow('outside lower bounds');
    await expect(world.query('select * from prune_archived_to_offset(99999999)')).rejects.toThrow(
      'beyond upper bounds',
    );
    expect(await world.query(`select * from prune_to_offset(${middle + 20})`)).toEqual([
      {
        squash_inclusive: String(middle + 20),
        new_oldest: String(middle + 20),
        affected_transactions: expect.any(Number),
      },
    ]);
    await world.query('reset search_path');
  });

  it('leave data that verify accepts', async () => {
    const quietIo = { stdout: new Sink(), stderr: new Sink(), stop: new AbortController().signal };
    const env = { LEDGER_URL: world.sandbox.url, DATABASE_URL: world.url };
    const code = await runCommand(verifyCommand, ['--invariants', '--acs', '--tail', '50'], env, quietIo);
    expect([code, code === 0 ? '' : quietIo.stdout.text]).toEqual([0, '']);
  });
});

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.text += chunk.toString();
    callback();
  }
}

describe('a reader limited to parties', needs(limitsSkipReason), () => {
  it('can read whether contents were redacted, but not the redaction tables', async () => {
    const [row] = await world.query<{ party: string; id: string }>(
      `select signatories[1] as party, contract_id as id from ledger.decoded_contracts where redaction_id is not null limit 1`,
    );
    const file = join(folder, 'reader');
    const argv = [`${prefix}_limited`, '--party', row?.party ?? '', '--password-file', file];
    await runCommand(grantReaderCommand, argv, { DATABASE_URL: world.url });
    const url = urlOf('limited');
    const sql = `select payload, redaction_id is not null as redacted from explore.contracts where contract_id = '${row?.id ?? ''}'`;
    expect(await query(url, sql)).toEqual([{ payload: null, redacted: true }]);
    expect((await query(url, 'select pqs.pruned_offset() as p'))[0]).toEqual({ p: expect.any(String) });
    for (const table of ['redactions', 'redacted_contracts', 'redacted_exercises']) {
      const tableRows = await query(url, `select * from ledger.${table}`).catch((error: unknown) => String(error));
      expect(Array.isArray(tableRows) ? tableRows : []).toEqual([]);
    }
  });
});
