/** Selections of `/changes` and of webhooks: interface, choice, filter, and end; also for a reader that sees few rows. */
// cspell:ignore acept acepted amont coice
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import type { ChangeSelection, ChangesRequest } from '../../src/model/push/changes.ts';
import { readChanges } from '../../src/store/changes/read-changes.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { withDatabase } from '../projections/projected.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { waitFor } from '../support/wait-for.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { listen } from './listener.ts';

const instruction = 'splice-amulet:Splice.AmuletTransferInstruction:AmuletTransferInstruction';
const instructionInterface =
  'splice-api-token-transfer-instruction-v1:Splice.Api.Token.TransferInstructionV1:TransferInstruction';
const role = `selecting_${randomBytes(4).toString('hex')}`;
let sandbox: Sandbox;
let database: TestDatabase;
let indexer: IndexerRun;
let env: Record<string, string>;
beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 6, updates: 1_200 });
  database = await createTestDatabase();
  env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url };
  indexer = await runIndexer({
    ...env,
    INDEXER_START: 'genesis',
    LEDGER_INTERFACES: 'tokens',
    INDEXER_WEBHOOK_NETWORKS: 'loopback',
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  // The types of fields come from the packages, which are read in the background.
  await waitFor('the packages', async () => {
    const [row] = await query(
      database.url,
      `select count(*)::int as count from ledger.packages where package_name in ('splice-amulet', 'splice-api-token-transfer-instruction-v1')`,
    );
    return row?.['count'] === 2 ? true : undefined;
  });
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}, ${role}_limited`);
});

/** Ids of the selected changes, and the last message. */
async function received(parameters: Readonly<Record<string, string>>) {
  const until = String(sandbox.ledger.ledgerEnd());
  const stream = listen(
    `${indexer.httpUrl}/changes?${String(new URLSearchParams({ after: '0', until, ...parameters }))}`,
  );
  await waitFor('the end', () => (stream.ends.length > 0 || stream.refused !== undefined ? true : undefined));
  stream.close();
  return { ids: stream.ids, ends: stream.ends, refused: stream.refused };
}

async function stored(condition: string): Promise<readonly string[]> {
  const text = `select "offset" || '-' || node_id as id from explore.events e where ${condition} order by "offset", node_id`;
  return (await query(database.url, text)).map(({ id }) => String(id));
}

const ofInstruction = `exists (select from explore.contracts c where c.contract_id = e.contract_id and c.template_fqn = '${instruction}'`;

describe('a selection of /changes', () => {
  it.each([
    ['a choice', { choice: 'TransferInstruction_Reject' }, `choice = 'TransferInstruction_Reject'`],
    [
      'an interface',
      { interface: instructionInterface },
      `exists (select from explore.interface_views v where v.template_fqn = e.template_fqn and v.interface_fqn = '${instructionInterface}')`,
    ],
    [
      'fields of the payload, for all changes of the contract',
      { template: instruction, where: 'payload.transfer.amount >= 150' },
      `${ofInstruction} and (c.payload #>> '{transfer,amount}')::numeric >= 150)`,
    ],
    [
      'fields of the view',
      { interface: instructionInterface, where: `view.transfer.instrumentId.id != 'Amulet'`, event_type: 'created' },
      `event_type = 'created' and exists (select from explore.interface_views v where v.contract_id = e.contract_id
         and v.interface_fqn = '${instructionInterface}' and v.view #>> '{transfer,instrumentId,id}' <> 'Amulet')`,
    ],
    [
      'fields of the argument',
      {
        interface: 'splice-api-token-transfer-instruction-v1:Splice.Api.Token.TransferInstructionV1:TransferFactory',
        choice: 'TransferFactory_Transfer',
        where: `argument.transfer.amount < 50 and argument.transfer.instrumentId.id = 'Amulet'`,
      },
      `choice = 'TransferFactory_Transfer' and argument #>> '{transfer,instrumentId,id}' = 'Amulet'
         and (argument #>> '{transfer,amount}')::numeric < 50`,
    ],
    ['columns', { where: `event_type = 'archived' and offset > 300` }, `event_type = 'archived' and "offset" > 300`],
  ])('by %s sends these changes and no others', async (_, parameters, condition) => {
    const expected = await stored(condition);
    expect(expected.length).toBeGreaterThan(3);
    expect(await received(parameters as Record<string, string>)).toMatchObject({ ids: expected });
  });

  it('by fields of token events sends only matching ones', async () => {
    const { ids } = await received({ event: 'transfer.*', where: `amount > 200 and instrument_id = 'Amulet'` });
    const rows = await query(
      database.url,
      `select distinct "offset", node_id, "offset" || '-' || node_id as id from explore.token_event_names(0, 1000000)
        where event like 'transfer.%' and amount > 200 and instrument_id = 'Amulet' order by 1, 2`,
    );
    expect(ids.length).toBeGreaterThan(3);
    expect(ids).toEqual(rows.map(({ id }) => id));
  });

  it.each([
    [
      'a field that the template does not have',
      { template: instruction, where: 'payload.transfer.amont > 1' },
      'payload.transfer.amount',
    ],
    ['a column that changes do not have', { where: `coice = 'x'` }, 'choice'],
    ['a field of token events without token events', { where: 'amount > 1' }, 'name one of'],
    ['a payload without its template', { where: 'payload.amount > 1' }, 'select the template too'],
  ])('is refused for %s', async (_, parameters, remedy) => {
    const response = await fetch(
      `${indexer.httpUrl}/changes?${String(new URLSearchParams(parameters as Record<string, string>))}`,
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'FIELD_UNKNOWN',
      remedy: expect.stringContaining(remedy) as string,
    });
  });

  it('ends before the first update that is later than a time', async () => {
    const [row] = await query(
      database.url,
      `select to_json(u.effective_at) #>> '{}' as time, (select min(l."offset") from ledger.updates l where coalesce(l.effective_at, l.record_time) > u.effective_at)::int as later
         from ledger.updates u where u."offset" = 400`,
    );
    const until = new Date(String(row?.['time'])).toISOString().replace(/\.\d+Z/, '.999999Z');
    const [later] = await query(
      database.url,
      `select min("offset")::int as offset from ledger.updates where coalesce(effective_at, record_time) > '${until}'`,
    );
    const { ids, ends } = await received({ until });
    expect(ids).toEqual(await stored(`"offset" < ${String(later?.['offset'])}`));
    expect(ends[0]).toContain('"reason":"complete"');
  });

  it('returns 204 to a client that resumes at the end, and a last line to NDJSON', async () => {
    const url = `${indexer.httpUrl}/changes?after=0&until=100&event_type=created`;
    expect((await fetch(url, { headers: { 'last-event-id': '100' } })).status).toBe(204);
    const text = await (await fetch(url, { headers: { accept: 'application/x-ndjson' } })).text();
    const lines = text.split('\n').filter((line) => line !== '');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ end: 'complete' });
    expect(lines.length - 1).toBe((await stored(`"offset" <= 100 and event_type = 'created'`)).length);
  });
});

describe('a selection of a reader limited to parties', needs(limitsSkipReason), () => {
  it('is not decided by rows that the reader may not see', async () => {
    const [row] = await query(
      database.url,
      `select payload #>> '{transfer,receiver}' as party from explore.contracts where template_fqn = '${instruction}' limit 1`,
    );
    const party = String(row?.['party']);
    await runCommand(grantReaderCommand, [`${role}_limited`, '--party', party], env);
    const read = (change: Partial<ChangesRequest>, selection: Partial<ChangeSelection>) =>
      withDatabase(database.url, async (pool) => {
        const all = { interfaceName: null, choices: [], tokenEvents: [], where: null, ...selection };
        const none = { template: null, party: null, eventTypes: [], role: `${role}_limited` };
        let [after, ids]: [ChangesRequest['after'], string[]] = [{ offset: 0, node: null }, []];
        for (;;) {
          const page = await readChanges(pool, { ...none, ...change, selection: all, after }, 200);
          ids.push(...page.changes.map(({ offset, node }) => `${String(offset)}-${String(node)}`));
          if (page.atEnd) return ids;
          after = page.next;
        }
      });
    const own = `e.contract_id in (select contract_id from explore.contracts c where '${party}' = any (c.signatories || c.observers))`;
    const created = await read({ template: instruction }, { where: 'payload.transfer.amount > 0' });
    expect(created.length).toBeGreaterThan(2);
    expect(created).toEqual(
      await stored(`e.template_fqn = '${instruction}' and '${party}' = any (e.parties) and ${own}`),
    );
    // A hidden payload is missing, whatever it contains.
    const hidden = await read({}, { interfaceName: instructionInterface, where: 'view.transfer.amount > 0' });
    for (const id of hidden) expect(await stored(own)).toContain(id);
    const events = await read({}, { tokenEvents: ['transfer.pending', 'holding.locked', 'mint', 'burn'] });
    const visible = await stored(`'${party}' = any (e.parties)`);
    expect(events.length).toBeGreaterThan(2);
    for (const id of events) expect(visible).toContain(id);
  });
});

describe('a webhook with a selection', () => {
  it('receives the selected events, then its end, and is finished', async () => {
    await using receiver = await startReceiver();
    receiver.name = 'paid';
    await runCommand(grantReaderCommand, [role], env);
    const lines: string[] = [];
    const run = (...args: string[]) => runCommand(webhookCommand, args, env, { print: (line) => lines.push(line) });
    const end = String(sandbox.ledger.ledgerEnd());
    const add = ['add', 'paid', '--url', `${receiver.url}/paid`, '--role', role, '--after', '0', '--until', end];
    await expect(run(...add, '--choice', 'TransferInstruction_Acept')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await expect(run(...add, '--where', 'amont > 1')).rejects.toMatchObject({ code: 'FIELD_UNKNOWN' });
    await expect(run(...add, '--event', 'transfer.acepted')).rejects.toMatchObject({ code: 'USAGE' });
    await run(...add, '--event', 'transfer.accepted', '--where', 'amount > 100');
    receiver.secret = /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';
    await waitFor('the end', () => (receiver.taken.at(-1)?.type === 'end' ? true : undefined));
    const { ids } = await received({ event: 'transfer.accepted', where: 'amount > 100' });
    expect(receiver.taken.slice(0, -1).map(({ type }) => type)).toEqual(ids.map(() => 'transfer.accepted'));
    expect(
      receiver.taken
        .slice(0, -1)
        .map(({ place }) => place)
        .sort(),
    ).toEqual([...ids].sort());
    await waitFor('the state', async () =>
      (await query(database.url, `select from ledger.webhooks where state = 'finished'`)).length === 1
        ? true
        : undefined,
    );
    expect(await query(database.url, `select from ledger.retention_holds where name = 'webhook:paid'`)).toEqual([]);
    lines.length = 0;
    await run('list');
    expect(lines.join('\n')).toMatch(
      /paid {2}finished .* events transfer\.accepted {2}where amount > 100 {2}until \d+/,
    );
  });
});
