/**
 * More queries of docs/reference/pqs-functions.md on a month of the demo: history, exercises, summaries, queries of
 * explorers, and the typed views. They are part of demo-queries.long.test.ts, which indexes the demo.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { interfaces, names } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { initialLicensing, licensingUpgrade } from '../../../packages/ledger-sandbox/src/demo/packages/applications.ts';
import { asText } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import { parseNumeric } from '../../../packages/ledger-sandbox/src/wire/values.ts';
import { valueAt } from '../../../packages/ledger-sandbox/test/server/sockets.ts';
import type { DemoDatabase, KnownContract, World } from './demo-history.ts';

/** These holdings stay on one synchronizer. A reassigned holding would have one row per synchronizer. */
const amulet = 'splice-amulet:Splice.Amulet:Amulet';

let demo: DemoDatabase;
let world: World;

const rows: DemoDatabase['query'] = (sql, ...values) => demo.query(sql, ...values);
/** The first column of all rows, sorted. */
async function column(sql: string, ...values: unknown[]): Promise<readonly string[]> {
  return (await rows(sql, ...values)).map((row) => String(Object.values(row)[0])).sort();
}
const ids = (contracts: readonly KnownContract[]): readonly string[] =>
  contracts.map(({ created }) => created.contractId).sort();
function first<T>(list: readonly T[]): T {
  const [firstElement] = list;
  if (firstElement === undefined) throw new Error('the demo has none');
  return firstElement;
}
/** Contracts of a template that ended up to an offset, without those that began and ended in one transaction. */
function archivedContracts(name: string, untilOffset: number): readonly KnownContract[] {
  const endedIds = new Set(
    world.transactions
      .filter(({ offset }) => offset <= untilOffset)
      .flatMap(({ events }) =>
        events.flatMap((event) =>
          'ExercisedEvent' in event && event.ExercisedEvent.consuming ? [event.ExercisedEvent.contractId] : [],
        ),
      ),
  );
  return world.creates(name).filter(({ created }) => created.acsDelta && endedIds.has(created.contractId));
}

/** @param databaseOf returns the demo after it was indexed */
export function describeHistory(databaseOf: () => DemoDatabase): void {
  beforeAll(() => {
    demo = databaseOf();
    ({ world } = demo);
  });
  describe('PQS queries of history on the demo', describeHistoryQueries);
  describe('PQS queries of time and maintenance on the demo', describeTimeQueries);
  describe('PQS queries of explorers on the demo', describeExplorerQueries);
  describe('typed views of the demo', describeTypedViews);
}

function describeHistoryQueries(): void {
  it('return creates, archives and active contracts up to an offset (#19)', async () => {
    const middleOffset = Math.floor(world.end / 2);
    const createsBefore = world.creates(amulet).filter(({ offset }) => offset <= middleOffset);
    expect(await column(`select contract_id from creates($1, oldest_offset(), $2)`, amulet, middleOffset)).toEqual(
      ids(createsBefore),
    );
    const archives = `select contract_id from archives($1, COALESCE(pruned_offset(), oldest_offset()), $2)`;
    expect(await column(archives, amulet, middleOffset)).toEqual(ids(archivedContracts(amulet, middleOffset)));
    expect(archivedContracts(amulet, middleOffset).length).toBeGreaterThan(10);
    expect(await column(`select contract_id from active($1, $2)`, names.license, middleOffset)).toEqual(
      ids(world.active(names.license, middleOffset)),
    );
  });

  it('return a contract by its id, and exercises by their choice (#20)', async () => {
    const { created } = first(world.creates(names.trade));
    expect(await column(`select contract_id from lookup_contract($1, $2)`, created.contractId, 'OTCTrade')).toEqual([
      created.contractId,
    ]);
    const sql = `select contract_id from exercises('${interfaces.transferFactory}:TransferFactory_Transfer', $1, $2)`;
    const range = [Math.floor(world.end / 3), Math.floor(world.end / 2)] as const;
    const expected = world
      .exercises('TransferFactory_Transfer')
      .filter(({ interfaceId }) => interfaceId?.includes('V1:') === true)
      .filter(({ transaction }) => transaction.offset >= range[0] && transaction.offset <= range[1]);
    expect(await column(sql, ...range)).toEqual(expected.map(({ contractId }) => contractId).sort());
    expect(expected.length).toBeGreaterThan(10);
  });

  it('return contracts as of the offset that set_latest() sets (#22)', async () => {
    const middleOffset = first(world.creates(names.trade)).offset;
    await rows('select set_latest($1)', middleOffset);
    const activeIds = await column(`select contract_id from active($1)`, amulet);
    await rows('select set_latest(NULL)');
    expect(activeIds).toEqual(ids(world.active(amulet, middleOffset)));
    const joinedSql = `select contract_id from archives($1, 0::bigint, $2) join creates($1, 0::bigint, $2) c using (contract_id)`;
    expect(await column(joinedSql, amulet, world.end)).toEqual(ids(archivedContracts(amulet, world.end)));
  });

  it('return contracts created since the last read (#24)', async () => {
    const last = Math.floor((world.end * 9) / 10);
    const sql = `select contract_id from creates('Amulet', from_offset := $1) where created_at_offset > $1 order by created_at_offset`;
    expect(await column(sql, last)).toEqual(ids(world.creates(amulet).filter(({ offset }) => offset > last)));
  });

  it('join an event with its transaction (#25)', async () => {
    const { created, offset } = first(world.creates(names.trade));
    const sql = `select c.contract_id, t.transaction_id, (t.trace_context).trace_parent as trace, t.effective_at
      from creates('OTCTrade') c join transactions t on c.created_at_ix = t.ix where c.create_event_id = ($1::bigint, $2::int)`;
    const transaction = world.transactions.find((candidateTransaction) => candidateTransaction.offset === offset);
    expect(await rows(sql, offset, created.nodeId)).toEqual([
      {
        contract_id: created.contractId,
        transaction_id: transaction?.updateId,
        trace: transaction?.traceContext?.traceparent ?? null,
        effective_at: new Date(created.createdAt),
      },
    ]);
  });

  it('join current licenses with their predecessors (#26)', async () => {
    const sql = `select a.contract_id || count(*) || coalesce(string_agg(c.payload->>'expiresAt', ',' order by c.payload->>'expiresAt'), '')
      from active('License') a inner join archives('License') c
        on a.payload->>'user' = c.payload->>'user' and a.payload->>'licenseNum' = c.payload->>'licenseNum' group by a.contract_id`;
    const predecessors = archivedContracts(names.license, world.end);
    const expected = world.active(names.license).flatMap(({ created, payload }) => {
      const sameUserLicenses = predecessors.filter(
        (license) =>
          license.payload['user'] === payload['user'] && license.payload['licenseNum'] === payload['licenseNum'],
      );
      const expiryDates = sameUserLicenses.map((license) => asText(license.payload['expiresAt'])).sort();
      return expiryDates.length === 0 ? [] : [`${created.contractId}${expiryDates.length}${expiryDates.join(',')}`];
    });
    expect(expected.length).toBeGreaterThan(0);
    expect(await column(sql)).toEqual(expected.sort());
  });

  it('return exercises of interface choices in chronological order (#27)', async () => {
    const v1 = 'Splice.Api.Token.TransferInstructionV1:TransferInstruction';
    const sql = `select e.contract_id, e.choice from creates('AmuletTransferInstruction') c
      join (select * from exercises('${v1}:TransferInstruction_Accept')
            union all select * from exercises('${v1}:TransferInstruction_Reject')) e on c.contract_id = e.contract_id
      join transactions tx on tx.ix = e.exercised_at_ix order by tx.ix`;
    const expected = ['TransferInstruction_Accept', 'TransferInstruction_Reject']
      .flatMap((choice) => world.exercises(choice))
      .filter(({ templateId }) => templateId.endsWith(':AmuletTransferInstruction'))
      .toSorted((a, b) => a.transaction.offset - b.transaction.offset);
    expect(await rows(sql)).toEqual(expected.map(({ contractId, choice }) => ({ contract_id: contractId, choice })));
    expect(expected.length).toBeGreaterThan(20);
  });

  it('return exercises with their arguments, controllers and witnesses (#28)', async () => {
    const sql = `select contract_id, argument->'allocationsWithContext' as legs, signatories, stakeholders(e) as all, controllers, witnesses
      from exercises('Splice.Testing.Apps.TradingApp:OTCTrade:OTCTrade_Settle') e`;
    const resultRows = await rows(sql);
    const settledTrades = new Map(
      world.exercises('OTCTrade_Settle').map((exercise) => [exercise.contractId, exercise]),
    );
    expect(resultRows).toHaveLength(settledTrades.size);
    expect(settledTrades.size).toBeGreaterThan(5);
    for (const row of resultRows) {
      const expected = settledTrades.get(String(row['contract_id']));
      expect(row['legs']).toEqual(valueAt(expected?.choiceArgument, 'allocationsWithContext'));
      expect(row['controllers']).toEqual(expected?.actingParties);
      expect([...(row['witnesses'] as string[])].sort()).toEqual([...(expected?.witnessParties ?? [])].sort());
    }
  });

  it('count contracts, updates and exercises (#29)', async () => {
    const count = async (source: string, key: string): Promise<ReadonlyMap<unknown, number>> => {
      const resultRows = await rows(`select ${key}, count from ${source}`);
      return new Map(resultRows.map((row) => [row[key], Number(row['count'])]));
    };
    const activeTotal = await count('summary_active()', 'template_fqn');
    const creates = await count('summary_creates()', 'template_fqn');
    const archives = await count('summary_archives()', 'template_fqn');
    for (const name of [amulet, names.license, names.trade, names.openRound]) {
      expect([name, activeTotal.get(name) ?? 0]).toEqual([name, world.active(name).length]);
      expect([name, creates.get(name)]).toEqual([name, world.creates(name).length]);
      expect([name, archives.get(name) ?? 0]).toEqual([name, archivedContracts(name, world.end).length]);
    }
    expect(activeTotal.get(interfaces.holding)).toBe(world.views(interfaces.holding).length);
    const transients = await rows(`select template_fqn from summary_transients()`);
    expect(transients.length).toBeGreaterThan(0);
    const updates = await rows(`select creates from summary_updates() where template_fqn = $1`, amulet);
    expect(updates).toEqual([{ creates: String(world.creates(amulet).length) }]);
    const choices = await count('summary_exercises()', 'choice');
    expect(choices.get('OTCTrade_Settle')).toBe(world.exercises('OTCTrade_Settle').length);
  });

  it('return a contract in any state, and its exercises (#30)', async () => {
    const { created } = first(archivedContracts(amulet, world.end));
    expect(await column(`select template_fqn from lookup_contract($1)`, created.contractId)).toEqual([
      amulet,
      interfaces.holding,
    ]);
    const choiceRows = await column(`select choice from lookup_exercises($1)`, created.contractId);
    expect(choiceRows.length).toBeGreaterThan(0);
  });
}

function describeTimeQueries(): void {
  it('return the offset at a time (#32)', async () => {
    const { created, offset } = first(world.creates(names.trade));
    const nearestOffset = Number((await column(`select nearest_offset($1::timestamptz)`, created.createdAt))[0]);
    const newestTransaction =
      world.transactions.filter(({ effectiveAt }) => effectiveAt <= created.createdAt).at(-1)?.offset ?? 0;
    expect(nearestOffset).toBeGreaterThanOrEqual(offset);
    expect(nearestOffset).toBe(newestTransaction);
    expect(Number((await column(`select count(*) from active('Amulet', nearest_offset(interval '0'))`))[0])).toBe(
      world.active(amulet).length,
    );
  });

  it('create an index on a payload field (#33)', async () => {
    await rows(`call create_index_for_contract('amulet_owner', '${amulet}', '(payload->>''owner'')', 'hash')`);
    expect(await column(`select indexname from pg_indexes where indexname = 'amulet_owner'`)).toEqual(['amulet_owner']);
  });
}

function describeExplorerQueries(): void {
  it('return contracts by key (#31)', async () => {
    const account = first(world.active('sandbox-test:Keyed:Account')).created;
    const sql = `select contract_id from __contracts where contract_key = jsonb_build_object('_1', $1::text, '_2', $2::text) order by created_at_ix`;
    const key = [valueAt(account.contractKey, '_1'), valueAt(account.contractKey, '_2')];
    expect(await column(sql, ...key)).toEqual([account.contractId]);
  });

  it('count updates per quarter of an hour (#36)', async () => {
    const sql = `select floor(extract(epoch from tx.effective_at)/900)*900 as bucket, count(*) from __transactions tx group by 1`;
    const resultRows = await rows(sql);
    expect(resultRows.length).toBeGreaterThan(500);
    expect(resultRows.reduce((sum, row) => sum + Number(row['count']), 0)).toBe(world.updates);
  });

  it('return a page of updates by party and template (#37)', async () => {
    const { created, offset } = first(world.creates(names.license).toReversed());
    const [party = ''] = created.signatories;
    const sql = `select tx.transaction_id from __transactions tx
      where tx."offset" < $1 and exists (
        select from __contracts c join __contract_tpe t on t.pk = c.tpe_pk
         where c.created_at_ix = tx.ix and $2 = any(c.witnesses) and 'License' = any(t.aliases))
      order by tx."offset" desc limit 1`;
    const expected = world.transactions.find((transaction) => transaction.offset === offset)?.updateId;
    expect(await column(sql, world.end + 1, party)).toEqual([expected]);
  });

  it('return contracts by id prefix (#38), and the newest contracts of a party (#39)', async () => {
    const { created } = first(world.active(names.install));
    const prefix = `${created.contractId.slice(0, 12)}%`;
    expect(await column(`select distinct contract_id from __contracts where contract_id like $1`, prefix)).toEqual([
      created.contractId,
    ]);
    const [party = ''] = created.signatories;
    const sql = `select contract_id from __contracts join __contract_tpe t on t.pk = tpe_pk
      where t.payload_type = 'template' and $1 = any(witnesses) order by created_at_ix desc, create_event_pk desc limit 2`;
    const seenEvents = world.transactions.flatMap(({ events }) =>
      events.flatMap((event) =>
        'CreatedEvent' in event && event.CreatedEvent.witnessParties.includes(party)
          ? [event.CreatedEvent.contractId]
          : [],
      ),
    );
    expect(await column(sql, party)).toEqual(seenEvents.slice(-2).sort());
  });
}

function describeTypedViews(): void {
  it('return a row for each holding, with its fields as columns', async () => {
    const resultRows = await rows(`select instrument_id_id as id, sum(amount) as sum, count(lock_holders) as locked
      from typed.token_holding_v1__holding group by 1 order by 1`);
    const views = world.views(interfaces.holding).map(({ view }) => view);
    for (const { id, sum, locked: lockedSum } of resultRows) {
      const sameInstrument = views.filter((view) => valueAt(view, 'instrumentId', 'id') === id);
      const total = sameInstrument.reduce(
        (runningTotal, view) => runningTotal + (parseNumeric(asText(view['amount'])) ?? 0n),
        0n,
      );
      expect([id, parseNumeric(String(sum))]).toEqual([id, total]);
      expect([id, Number(lockedSum)]).toEqual([id, sameInstrument.filter(({ lock }) => lock !== null).length]);
    }
    expect(resultRows).toHaveLength(5);
  });

  it('have a column for a field of an upgraded package, with null in earlier rows', async () => {
    const resultRows = await rows(
      `select package_version as version, seats, count(*) from typed.quickstart_licensing__license group by 1, 2 order by 1, 2`,
    );
    const seatsOf = (id: string, seats: boolean): number =>
      world
        .active(names.license)
        .filter(({ created, payload }) => created.templateId.startsWith(id) && 'seats' in payload === seats).length;
    expect(resultRows[0]).toEqual({
      version: '0.0.4',
      seats: null,
      count: String(seatsOf(initialLicensing.id, false)),
    });
    expect(resultRows.at(-1)).toMatchObject({ version: '0.0.5' });
    expect(resultRows.find(({ seats }) => seats !== null)).toEqual({
      version: '0.0.5',
      seats: '25',
      count: String(seatsOf(licensingUpgrade.id, true)),
    });
  });

  it('are created, and only a package that does not exist cannot be read', async () => {
    const tableNames = await column(`select table_name from information_schema.views where table_schema = 'typed'`);
    expect(tableNames.length).toBeGreaterThan(60);
    // The template with a key is not part of the demo, and its package does not exist.
    const keyed = first(world.active('sandbox-test:Keyed:Account')).created.templateId.slice(0, 64);
    const lines = demo.indexer.log.filter((line) => line.includes('packages cannot be read'));
    const refusedQueries = lines.flatMap((line) => (JSON.parse(line) as { packages: string[] }).packages);
    expect(refusedQueries).toEqual([keyed]);
  });
}
