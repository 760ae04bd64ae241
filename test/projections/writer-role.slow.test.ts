/** The writer role of `grant-roles` fills projections, and the redactor notes changes for them. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { grantRolesCommand } from '../../src/cli/roles/grant-roles.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { readTrafficRunway } from '../../src/store/reads/traffic-runway.ts';
import { compare, fillAll, turnJitOff, withDatabase } from './projected.ts';

const prefix = `projections_${randomBytes(4).toString('hex')}`;
const kinds = ['migrator', 'writer', 'redactor', 'reader'] as const;
let world: HistoryWorld;
let folder: string;

function urlOf(kind: (typeof kinds)[number]): string {
  const url = new URL(world.database.url);
  url.username = `${prefix}_${kind}`;
  url.password = 'kept';
  return url.href;
}

beforeAll(async () => {
  world = await HistoryWorld.open(200);
  await turnJitOff(world.database.url);
  await world.index('ledger', { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis' });
  folder = mkdtempSync(join(tmpdir(), 'projection-roles-'));
  for (const kind of kinds) writeFileSync(join(folder, kind), 'kept\n');
  await runCommand(grantRolesCommand, ['--prefix', prefix, '--password-dir', folder], world.env());
});
afterAll(async () => {
  await world.close();
  const roles = ['owner', ...kinds].map((kind) => `${prefix}_${kind}`).join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
  rmSync(folder, { recursive: true });
});

it('the writer reads how long traffic lasts, with and without projections', async () => {
  for (const projections of ['on', 'off']) {
    const url = new URL(urlOf('writer'));
    url.searchParams.set('options', `-c ledger_indexer.projections=${projections}`);
    const runways = await withDatabase(url.href, readTrafficRunway);
    expect(runways.map(({ synchronizer }) => synchronizer)).not.toEqual([]);
    // This history has no purchases, so the balance of their payer is read separately.
    const balance = `select amulet::text, reason from explore.traffic_amulet_left('payer::1220', 'dso', (select checkpoint from ledger.stream))`;
    expect(await query(url.href, balance)).toEqual([{ amulet: '0', reason: null }]);
  }
});

it('the writer fills projections, and the redactor notes what it prunes', async () => {
  const equal = { token_changes: { extra: 0, missing: 0 }, token_transfers: { extra: 0, missing: 0 } };
  expect(await fillAll(urlOf('writer'), 100)).toBeGreaterThan(2);
  expect(await compare(urlOf('reader'))).toMatchObject(equal);
  const before = String(Math.floor((await world.checkpoint()) / 2));
  await runCommand(pruneCommand, ['--before', before, '--yes'], { DATABASE_URL: urlOf('redactor') });
  const { count } = await world.row('select count(*)::int as count from ledger.projection_changes');
  expect(count).toBeGreaterThan(0);
  expect(await compare(urlOf('reader'))).toMatchObject(equal);
  expect(await fillAll(urlOf('writer'), 100)).toBeGreaterThan(0);
  expect(await compare(urlOf('reader'))).toMatchObject(equal);
});
