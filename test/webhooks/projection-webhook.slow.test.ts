/** A webhook on a projection sends each row at least once, in order, with an id that does not change. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectionCommand } from '../../src/cli/projections/projection.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver, type Receiver } from './receiver.ts';

/** Three rows of each update that created a contract. */
const rowsSql = `select distinct e."offset", e.template_fqn, g.n
  from explore.events e cross join generate_series(1, 3) g (n)
 where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to`;
const env = { INDEXER_START: 'genesis', INDEXER_WEBHOOK_NETWORKS: 'loopback' };
const role = `alerted_${randomBytes(4).toString('hex')}`;
let world: HistoryWorld;
let indexer: IndexerRun;
let receiver: Receiver;
let folder: string;
beforeAll(async () => {
  world = await HistoryWorld.open(70);
  receiver = await startReceiver();
  indexer = await world.run('ledger', env);
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
  await runCommand(grantReaderCommand, [role], world.env());
  folder = mkdtempSync(join(tmpdir(), 'alert-'));
  writeFileSync(join(folder, 'rows.sql'), rowsSql);
  const words = ['add', 'alerts', '--sql', join(folder, 'rows.sql'), '--role', role];
  await runCommand(projectionCommand, words, world.env());
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await world.close();
  rmSync(folder, { recursive: true });
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}, ${role}_limited`);
});

async function webhook(...args: string[]): Promise<string> {
  const lines: string[] = [];
  await runCommand(webhookCommand, args, world.env(), { print: (line) => lines.push(line) });
  return lines.join('\n');
}

const add = (name: string, ...args: string[]): Promise<string> =>
  webhook('add', name, '--url', `${receiver.url}/${name}`, '--role', role, ...args);

/** Rows of the view, each as an array of its values. */
async function viewRows(): Promise<readonly string[]> {
  const rows = await query(
    world.database.url,
    `select row_to_json(v)::text as json from derived.alerts v order by v."offset", v::text collate "C"`,
  );
  return rows.map(({ json }) => JSON.stringify(JSON.parse(String(json))));
}

describe('a webhook on a projection', () => {
  it('sends the rows after its offset and those of each commit, once and in order', async () => {
    receiver.name = 'alerts';
    receiver.secret = /whsec_\S+/.exec(await add('alerts', '--projection', 'alerts', '--after', '0'))?.[0] ?? '';
    // Every seventh row is rejected once, so that it is sent again.
    let rejections = 0;
    const rejected = new Set<string>();
    receiver.reply = ({ id }) => {
      if (rejected.has(id) || (rejections += 1) % 7 !== 0) return { status: 204 };
      rejected.add(id);
      return { status: 503, headers: { 'retry-after': '0' } };
    };
    world.grow(10);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const expected = await viewRows();
    expect(expected.length).toBeGreaterThan(60);
    await waitFor('all rows', () => (receiver.taken.length >= expected.length ? true : undefined));
    expect(receiver.taken.map(({ data }) => JSON.stringify(data))).toEqual(expected);
    expect(new Set(receiver.taken.map(({ id }) => id)).size).toBe(expected.length);
    expect(rejected.size).toBeGreaterThan(3);
    expect(receiver.heard.length).toBe(expected.length + rejected.size);
    expect(receiver.forged).toEqual([]);
    const [first] = receiver.taken;
    expect(first?.type).toBe('projection.alerts');
    const { timestamp } = JSON.parse(first?.body ?? '{}') as { readonly timestamp: string };
    expect(timestamp).toMatch(/^2026-\d\d-\d\dT/);
  });

  it('is listed, and keeps its projection from being dropped', async () => {
    expect(await webhook('list')).toMatch(/^alerts {2}active {2}http:\/\/127\.0\.0\.1:\d+ {2}rows of alerts {2}as /);
    await expect(runCommand(projectionCommand, ['drop', 'alerts'], world.env())).rejects.toMatchObject({
      code: 'PROJECTION_REFUSED',
      message: 'webhook alerts delivers the rows of alerts',
    });
    await webhook('remove', 'alerts');
    await runCommand(projectionCommand, ['drop', 'alerts'], world.env());
  });

  it('is not added for an unknown projection, or together with a filter of events', async () => {
    await expect(add('unknown', '--projection', 'token_transfer')).rejects.toMatchObject({
      code: 'PROJECTION_NOT_FOUND',
      message: expect.stringContaining('did you mean token_transfers, ') as string,
    });
    await expect(add('both', '--projection', 'token_transfers', '--event-type', 'created')).rejects.toMatchObject({
      code: 'USAGE',
    });
    expect(await webhook('list')).toBe('there is no webhook');
  });

  it('is not added for a limited reader without a party column', needs(limitsSkipReason), async () => {
    const [row] = await query(world.database.url, 'select parties[1] as party from explore.events limit 1');
    await runCommand(grantReaderCommand, [`${role}_limited`, '--party', String(row?.['party'])], world.env());
    const words = ['add', 'hidden', '--sql', join(folder, 'rows.sql'), '--role', role];
    await runCommand(projectionCommand, words, world.env());
    await expect(
      webhook('add', 'narrow', '--url', receiver.url, '--role', `${role}_limited`, '--projection', 'hidden'),
    ).rejects.toMatchObject({ code: 'PROJECTION_REFUSED' });
  });
});
