/**
 * Webhooks of a running indexer send every event, in order for each contract. A third-party verifier checks the
 * signatures.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdCommand } from '../../src/cli/maintain/hold.ts';
import { pruneCommand } from '../../src/cli/maintain/prune.ts';
import { resetCommand } from '../../src/cli/maintain/reset.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { webhookCommand } from '../../src/cli/webhooks/webhook.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { exampleWith } from './example.ts';
import { groupByContract, sortPlaces, startReceiver, type Received, type Receiver } from './receiver.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';

const env = { INDEXER_START: 'genesis', INDEXER_WEBHOOK_NETWORKS: 'loopback', INDEXER_WEBHOOK_ATTEMPTS: '3' };
const role = `hooked_${randomBytes(4).toString('hex')}`;
let world: HistoryWorld;
let indexer: IndexerRun;
let receiver: Receiver;
beforeAll(async () => {
  world = await HistoryWorld.open(70);
  receiver = await startReceiver();
  indexer = await world.run('ledger', env);
  await catchUp();
  await runCommand(grantReaderCommand, [role], world.env());
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await world.close();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}, ${role}_limited`);
});

async function webhook(...args: string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(webhookCommand, args, world.env(), { print: (line) => lines.push(line) });
  return lines;
}

/** Adds a webhook, and configures the receiver with its secret. */
async function add(name: string, ...args: string[]): Promise<void> {
  const reader = args.includes('--role') ? [] : ['--role', role];
  receiver.heard.length = 0;
  receiver.taken.length = 0;
  receiver.reply = () => ({ status: 204 });
  receiver.delayMs = 0;
  receiver.secret = '';
  receiver.name = name;
  const lines = await webhook('add', name, '--url', `${receiver.url}/${name}`, ...reader, ...args);
  receiver.secret = /whsec_\S+/.exec(lines.join('\n'))?.[0] ?? '';
}

const catchUp = (): Promise<void> => indexer.reaches(world.sandbox.ledger.ledgerEnd());

/** Resolves when the line that lists the only webhook matches. */
function waitForListed(expected: RegExp): Promise<true> {
  return waitFor(`webhook list has ${String(expected)}`, async () =>
    expected.test((await webhook('list')).join('\n')) ? true : undefined,
  );
}

/** Cursor of the only webhook, as an offset. */
async function cursor(): Promise<number> {
  return Number((await query(world.database.url, 'select cursor_offset from ledger.webhooks'))[0]?.['cursor_offset']);
}

/** Offset of the webhook's retention hold. Later history must not be pruned. */
async function countHeld(name: string): Promise<number> {
  const text = `select "offset" from ledger.retention_holds where name = 'webhook:${name}'`;
  return Number((await query(world.database.url, text))[0]?.['offset']);
}

async function storedEvents(condition = 'true'): Promise<readonly string[]> {
  const text = `select "offset" || '-' || node_id as place from explore.events where ${condition} order by "offset", node_id`;
  return (await query(world.database.url, text)).map(({ place }) => String(place));
}

const positionsOf = (receivedEvents: readonly Received[]): readonly string[] =>
  sortPlaces([...new Set(receivedEvents.map(({ place }) => place))]);

/** Resolves when all of these events were accepted. */
function waitForTaken(expected: readonly string[]): Promise<true> {
  return waitFor(`${String(expected.length)} events are taken`, () =>
    new Set(receiver.taken.map(({ place }) => place)).size >= expected.length ? true : undefined,
  );
}

function expectOrder(receivedEvents: readonly Received[]): void {
  for (const places of groupByContract(receivedEvents).values()) expect(places).toEqual(sortPlaces(places));
}

/** The id of a contract with 2 to 20 events. */
async function busyContract(): Promise<string> {
  const text = `select contract_id from explore.events where contract_id is not null
                 group by contract_id having count(*) between 2 and 20 order by count(*) desc, min("offset") limit 1`;
  const [row] = await query(world.database.url, text);
  return String(row?.['contract_id']);
}

describe('webhook', () => {
  it('sends each event after its offset once, then the events of each commit', async () => {
    await add('all', '--after', '0');
    const storedBefore = await storedEvents();
    expect(storedBefore.length).toBeGreaterThan(100);
    await waitForTaken(storedBefore);
    world.grow(20);
    await catchUp();
    const storedAfter = await storedEvents();
    expect(storedAfter.length).toBeGreaterThan(storedBefore.length);
    await waitForTaken(storedAfter);
    expect(receiver.taken.map(({ place }) => place).length).toBe(storedAfter.length);
    expect(positionsOf(receiver.taken)).toEqual(storedAfter);
    expect(receiver.forged).toEqual([]);
    expectOrder(receiver.heard);
    const example = await exampleWith(receiver.secret);
    for (const { id, type, contract, data, body, headers } of receiver.heard.slice(-20)) {
      const expected = { id, type, offset: data['offset'], contract: contract === '' ? null : contract };
      expect(example.received(body, headers)).toEqual(expected);
    }
    await webhook('remove', 'all');
  });

  it('sends only events that match its filter, by default from the current offset', async () => {
    await add('few', '--event-type', 'created', '--event-type', 'archived');
    const countBefore = (await storedEvents(`event_type in ('created', 'archived')`)).length;
    world.grow(20);
    await catchUp();
    const newEvents = (await storedEvents(`event_type in ('created', 'archived')`)).slice(countBefore);
    await waitForTaken(newEvents);
    expect(positionsOf(receiver.taken)).toEqual(newEvents);
    expect(new Set(receiver.taken.map(({ type }) => type))).toEqual(new Set(['created', 'archived']));
    await webhook('remove', 'few');
  });

  it('sends only events visible to its role', needs(limitsSkipReason), async () => {
    const [busiestRow] = await query(
      world.database.url,
      `select p as party from explore.events e cross join unnest(e.parties) p group by 1 order by count(*), 1 limit 1 offset 2`,
    );
    const party = String(busiestRow?.['party']);
    const limitedRole = `${role}_limited`;
    await runCommand(grantReaderCommand, [limitedRole, '--party', party], world.env());
    await add('limited', '--after', '0', '--role', limitedRole);
    const asReader = new URL(world.database.url);
    asReader.searchParams.set('options', `-c role=${limitedRole}`);
    const rows = await query(asReader.href, `select "offset" || '-' || node_id as place from explore.events`);
    const webhookPlaces = sortPlaces(rows.map(({ place }) => String(place)));
    expect(webhookPlaces.length).toBeGreaterThan(0);
    expect(webhookPlaces.length).toBeLessThan((await storedEvents()).length);
    await waitForTaken(webhookPlaces);
    // At this point, the webhook has read to the end of history.
    await waitFor('it has caught up', async () => ((await cursor()) === (await world.checkpoint()) ? true : undefined));
    expect(positionsOf(receiver.taken)).toEqual(webhookPlaces);
    await webhook('remove', 'limited');
  });

  it('hides its URL path and secret in lists and logs, and its secret from readers', async () => {
    await add('secret');
    const [line = ''] = await webhook('list');
    expect(line).toContain('secret  active  http://127.0.0.1:');
    expect(line).not.toContain('/hooks');
    expect(`${line}${indexer.log.join('')}`).not.toMatch(/whsec_|\/hooks/);
    const rowsSeenBy = (table: string, url: string) => query(url, `select count(*)::int as rows from ledger.${table}`);
    const asReader = new URL(world.database.url);
    asReader.searchParams.set('options', `-c role=${role}`);
    expect(await rowsSeenBy('webhook_secrets', world.database.url)).toEqual([{ rows: 1 }]);
    expect(await rowsSeenBy('webhooks', asReader.href)).toEqual([{ rows: 1 }]);
    expect(await rowsSeenBy('webhook_secrets', asReader.href)).toEqual([{ rows: 0 }]);
    await webhook('remove', 'secret');
  });
});

describe('rejected webhook event', () => {
  it('becomes a dead letter with later events of its contract, and is replayed in order', async () => {
    await add('again', '--after', '0');
    const contract = await busyContract();
    receiver.reply = (received) => ({ status: received.contract === contract ? 422 : 204 });
    const allEvents = await storedEvents();
    const contractEvents = await storedEvents(`contract_id = '${contract}'`);
    await waitForTaken(allEvents.filter((place) => !contractEvents.includes(place)));
    await waitFor('its events are dead letters', async () =>
      (await webhook('dead-letters', 'again')).length === contractEvents.length ? true : undefined,
    );
    // The first event was tried three times, and the others were not tried.
    const [first] = contractEvents;
    const triedEvents = receiver.heard.filter((received) => received.contract === contract);
    expect(triedEvents.map(({ place }) => place)).toEqual([first, first, first]);
    expect((await webhook('dead-letters', 'again'))[0]).toContain('3 attempts');
    await waitFor('they are counted', async () =>
      (await indexer.metric('indexer_webhook_dead_letters{webhook="again"}')) === contractEvents.length
        ? true
        : undefined,
    );
    // Contents of dead letters are read again later, so the history must be kept.
    expect(await countHeld('again')).toBe(Number(first?.split('-')[0]) - 1);
    receiver.reply = () => ({ status: 204 });
    await webhook('replay', 'again');
    await waitForTaken(allEvents);
    await waitFor('no dead letter is left', async () =>
      (await webhook('dead-letters', 'again'))[0]?.includes('no dead letters') === true ? true : undefined,
    );
    expect(groupByContract(receiver.taken).get(contract)).toEqual(contractEvents);
    expect(new Set(receiver.heard.filter(({ place }) => place === first).map(({ id }) => id)).size).toBe(1);
    await webhook('remove', 'again');
  });

  it('is skipped after discard, and later events of its contract are sent', async () => {
    const contract = await busyContract();
    await add('lossy', '--after', '0');
    receiver.reply = (received) => ({ status: received.contract === contract ? 500 : 204 });
    const contractEvents = await storedEvents(`contract_id = '${contract}'`);
    await waitFor('its events are dead letters', async () =>
      (await webhook('dead-letters', 'lossy')).length === contractEvents.length ? true : undefined,
    );
    receiver.reply = () => ({ status: 204 });
    const [first = '', ...laterOffsets] = contractEvents;
    await webhook('discard', 'lossy', '--at', first);
    const allEvents = await storedEvents();
    await waitForTaken(allEvents.filter((place) => place !== first));
    expect(positionsOf(receiver.taken)).not.toContain(first);
    expect(positionsOf(receiver.taken)).toEqual(expect.arrayContaining([...laterOffsets]));
    await webhook('remove', 'lossy');
  });
});

describe('webhook delivery', () => {
  it('sends one event at a time while the receiver is unavailable', async () => {
    await add('away', '--after', '0');
    const concurrentPosts = 16;
    const refusedCount = concurrentPosts + 3;
    const unansweredCounts: number[] = [];
    receiver.delayMs = 50;
    receiver.reply = () => {
      unansweredCounts.push(receiver.heard.length - unansweredCounts.length);
      if (unansweredCounts.length <= refusedCount) return { status: 503, headers: { 'retry-after': '1' } };
      receiver.delayMs = 0;
      return { status: 204 };
    };
    await waitForTaken(await storedEvents());
    // Up to sixteen deliveries were in progress at the first response.
    expect(unansweredCounts.slice(concurrentPosts, refusedCount)).toEqual([1, 1, 1]);
    expectOrder(receiver.taken);
    await webhook('remove', 'away');
  });

  it('retries an event without limit while the receiver is unavailable', async () => {
    // The receiver gets only one event, the last event of a template.
    const [onlyRow = {}] = await query(
      world.database.url,
      `select template_fqn, "offset" - 1 as before from explore.events e where template_fqn is not null
          and not exists (select from explore.events l where l.template_fqn = e.template_fqn
                             and (l."offset", l.node_id) <> (e."offset", e.node_id) and l."offset" >= e."offset")
        order by "offset" limit 1`,
    );
    await add('patient', '--template', String(onlyRow['template_fqn']), '--after', String(onlyRow['before']));
    // A rejected event would be tried only three times.
    let isUnreachable = true;
    receiver.reply = () => ({ status: isUnreachable || receiver.heard.length <= 5 ? 503 : 204 });
    await waitForListed(/ {2}failing since 20\S+: status 503/);
    isUnreachable = false;
    await waitFor('it is accepted', () => receiver.taken[0]);
    await waitForListed(/^(?!.*failing)/);
    expect(new Set(receiver.heard.map(({ place }) => place)).size).toBe(1);
    expect(await webhook('dead-letters', 'patient')).toEqual(['patient has no dead letters']);
    await webhook('remove', 'patient');
  });

  it('treats a redirect as a failure and does not follow the redirect', async () => {
    await add('moved', '--after', '0');
    receiver.reply = () => ({ status: 302, headers: { location: `${receiver.url}/elsewhere` } });
    await waitFor('there are dead letters', async () =>
      (await webhook('dead-letters', 'moved'))[0]?.includes('redirects are not followed') === true ? true : undefined,
    );
    expect(receiver.taken).toEqual([]);
    await webhook('remove', 'moved');
  });

  it('stops after status 410 until the webhook is resumed, and releases its history hold', async () => {
    await add('leaver', '--after', '0');
    receiver.reply = () => ({ status: receiver.taken.length < 30 ? 204 : 410 });
    await waitForListed(/leaver {2}disabled/);
    const holdSql = `select from ledger.retention_holds where name = 'webhook:leaver'`;
    expect(await query(world.database.url, holdSql)).toEqual([]);
    receiver.reply = () => ({ status: 204 });
    await webhook('resume', 'leaver');
    await waitForTaken(await storedEvents());
    expect(await query(world.database.url, holdSql)).toHaveLength(1);
    expectOrder(receiver.taken);
    await webhook('remove', 'leaver');
  });
});

describe('webhook after a reset', () => {
  it('resends events after the reset offset with the same message ids', async () => {
    await add('back', '--after', '0');
    await waitForTaken(await storedEvents());
    const firstDeliveries = [...receiver.taken];
    await waitFor('it is noted', async () => ((await cursor()) === (await world.checkpoint()) ? true : undefined));
    expect(await countHeld('back')).toBe(await world.checkpoint());
    await indexer[Symbol.asyncDispose]();
    const middle = Math.floor(world.sandbox.ledger.ledgerEnd() / 2);
    await runCommand(resetCommand, ['--to', String(middle), '--yes'], world.env());
    expect(await cursor()).toBe(middle);
    receiver.heard.length = 0;
    receiver.taken.length = 0;
    indexer = await world.run('ledger', env);
    await catchUp();
    const redelivered = await storedEvents(`"offset" > ${String(middle)}`);
    await waitForTaken(redelivered);
    const ids = new Map(firstDeliveries.map(({ place, id }) => [place, id]));
    expect(positionsOf(receiver.taken)).toEqual(redelivered);
    expect(receiver.taken.map(({ place, id }) => ids.get(place) === id)).not.toContain(false);
    await webhook('remove', 'back');
  });
});

describe('webhook delivery by a standby', () => {
  it('starts at the cursor when the writer stops, with the same message ids', async () => {
    const countDelivered = (run: IndexerRun, name: string) =>
      run.metric(`indexer_webhook_deliveries_total{webhook="${name}",result="delivered"}`);
    const standby = await world.run('ledger', env);
    await waitFor('it stands by', async () => ((await standby.status()).state === 'standby' ? true : undefined));
    await add('both', '--after', '0');
    // Some deliveries are in progress whenever the writer stops.
    receiver.delayMs = 30;
    await waitFor('half is taken', async () =>
      receiver.taken.length * 2 > (await storedEvents()).length ? true : undefined,
    );
    await expect(countDelivered(standby, 'both')).rejects.toThrow('there is no metric');
    const countBefore = receiver.taken.length;
    await indexer[Symbol.asyncDispose]();
    indexer = standby;
    world.grow(20);
    await catchUp();
    const allEvents = await storedEvents();
    await waitForTaken(allEvents);
    expect(countBefore).toBeLessThan(allEvents.length);
    expect(positionsOf(receiver.heard)).toEqual(allEvents);
    expect(new Set(receiver.heard.map(({ id }) => id)).size).toBe(allEvents.length);
    expectOrder(receiver.heard);
    expect(await countDelivered(indexer, 'both')).toBeGreaterThan(0);
    await webhook('remove', 'both');
  });
});

describe('webhook with pruned history', () => {
  const prune = async (beforeOffset: number): Promise<string> => {
    const lines: string[] = [];
    const args = ['--before', String(beforeOffset), '--yes'];
    await runCommand(pruneCommand, args, world.env(), { print: (line) => lines.push(line) });
    return lines.join('\n');
  };

  it('prevents pruning until its hold is released, then lists the gap', async () => {
    await add('behind', '--after', '0');
    receiver.reply = () => ({ status: 503 });
    await waitFor('it was tried', () => (receiver.heard.length > 0 ? true : undefined));
    const eventsBefore = await storedEvents();
    expect(await prune(20)).toContain('webhook:behind');
    expect(await storedEvents()).toEqual(eventsBefore);
    await runCommand(holdCommand, ['release', 'webhook:behind'], world.env());
    await indexer[Symbol.asyncDispose]();
    await prune(20);
    receiver.reply = () => ({ status: 204 });
    indexer = await world.run('ledger', env);
    await waitForTaken(await storedEvents());
    expect(positionsOf(receiver.taken)).toEqual(await storedEvents());
    expect((await webhook('list'))[0]).toContain('history from offset 0 to 20 is incomplete here');
    await webhook('remove', 'behind');
  });

  it('resumes only after the pruned offset and lists the skipped range', async () => {
    await add('late', '--after', '20');
    receiver.reply = () => ({ status: 410 });
    await waitForListed(/late {2}disabled/);
    await prune(40);
    receiver.reply = () => ({ status: 204 });
    await expect(webhook('resume', 'late')).rejects.toThrow('offset 20 cannot be held: history is here from 40');
    expect((await webhook('list'))[0]).toContain('late  disabled');
    await expect(webhook('resume', 'late', '--after', '10')).rejects.toThrow('late has already received later changes');
    await webhook('resume', 'late', '--after', '40');
    const laterEvents = await storedEvents('"offset" > 40');
    await waitForTaken(laterEvents);
    expect(positionsOf(receiver.taken)).toEqual(laterEvents);
    expect((await webhook('list'))[0]).toContain('left out on resuming: history from offset 20 to 40');
    await webhook('remove', 'late');
  });
});
