/**
 * The forecast of traffic_runway on histories whose end is known, and each of its inputs, compared with a model of the
 * costs. The clock is the time that the function gets.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { amuletPrice } from '../../../packages/ledger-sandbox/src/demo/templates/holding-templates.ts';
import { demoInterfaces } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { trafficCost } from '../../../packages/ledger-sandbox/src/demo/templates/traffic.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { seedFor } from '../../support/chance/property.ts';
import { costOf, hour, plannedCommands, TrafficWorld, type PlannedCommand } from './traffic-world.ts';

const seed = seedFor();
const day = 24 * hour;
/** The forecasts are made a day before the end. 5 % of a day, in hours. */
const toleratedHours = 1.2;

interface Runway {
  readonly rate_over: string;
  readonly [column: string]: unknown;
}

interface History extends AsyncDisposable {
  readonly world: TrafficWorld;
  readonly database: TestDatabase;
  runway(at: number): Promise<readonly Runway[]>;
}

/** Indexes the ledger that `play` writes. */
async function indexed(units: bigint, play: (world: TrafficWorld) => void): Promise<History> {
  const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  const world = new TrafficWorld(sandbox.ledger, units);
  play(world);
  const database = await createTestDatabase();
  {
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      LEDGER_INTERFACES: demoInterfaces.join(','),
      INDEXER_START: 'genesis',
    });
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 120_000);
    await indexer.completionsReach(sandbox.ledger.ledgerEnd(), 120_000);
  }
  await sandbox.close();
  const columns = `extract(epoch from rate_over)::int / 3600 || ' h' as rate_over, bytes_bought::float8, bytes_bought_by_choice::float8,
    bytes_bought_by_transfer::float8, bytes_paid::float8, bytes_rejected::float8, bytes_left::float8, bytes_per_hour::float8,
    traffic_hours::float8, extract(epoch from traffic_ends_at)::float8 as traffic_ends_at, payer, amulet_left, amulet_per_mb,
    price_source, amulet_hours::float8, extract(epoch from amulet_ends_at)::float8 as amulet_ends_at,
    concat_ws('; ', bytes_bought_reason, bytes_paid_reason, bytes_left_reason, bytes_per_hour_reason, traffic_reason,
              amulet_left_reason, amulet_per_mb_reason, amulet_reason) as reasons`;
  return {
    world,
    database,
    runway: (at) =>
      query(
        database.url,
        `select ${columns} from explore.traffic_runway_at('${new Date(at).toISOString()}') order by 1 desc`,
      ) as never,
    [Symbol.asyncDispose]: () => database.drop(),
  };
}

const commands = plannedCommands(seed, 9);
/** Bytes of the commands until an hour after the beginning of the eighth day: the traffic that is bought. */
const endOfTraffic = (commands[0]?.at ?? 0) + 8 * day;
const bytesUntil = (at: number): number =>
  commands.reduce((sum, command) => (command.at <= at ? sum + costOf(command) : sum), 0);

describe('traffic that is bought once and then spent', () => {
  let history: History;
  beforeAll(async () => {
    const bytes = BigInt(bytesUntil(endOfTraffic));
    history = await indexed(trafficCost(bytes, amuletPrice) * 3n, (world) => {
      world.buy((commands[0]?.at ?? 0) - 2 * 60_000, bytes / 3n, false);
      world.buy((commands[0]?.at ?? 0) - 60_000, bytes - bytes / 3n, true);
      for (const command of commands) world.command(command);
    });
  }, 240_000);
  afterAll(() => history[Symbol.asyncDispose]());

  it('ends at the time that is forecast a day before, within 5 %, at both rates', async () => {
    const runways = await history.runway(endOfTraffic - day);
    expect(runways.map(({ rate_over: over, reasons }) => [over, reasons])).toEqual([
      ['24 h', ''],
      ['168 h', ''],
    ]);
    for (const { traffic_hours: hours, traffic_ends_at: endsAt } of runways) {
      expect(Math.abs(Number(hours) - 24)).toBeLessThan(toleratedHours);
      expect(Math.abs(Number(endsAt) * 1000 - endOfTraffic) / hour).toBeLessThan(toleratedHours);
    }
  });

  it('has the inputs of the model at any time', async () => {
    const random = new Random(seed);
    for (let trial = 0; trial < 25; trial += 1) {
      const at = (commands[0]?.at ?? 0) + random.between(7.2 * day, 8.9 * day);
      const { world } = history;
      const { units, ...inputs } = world.at(at);
      const { bytesBoughtByChoice, bytesBoughtByTransfer, bytesPaid, bytesRejected } = inputs;
      const left = bytesBoughtByChoice + bytesBoughtByTransfer - bytesPaid - bytesRejected;
      const expected = [24, 168].map((hours) => ({
        rate_over: `${String(hours)} h`,
        bytes_bought: bytesBoughtByChoice + bytesBoughtByTransfer,
        bytes_bought_by_choice: bytesBoughtByChoice,
        bytes_bought_by_transfer: bytesBoughtByTransfer,
        bytes_paid: bytesPaid,
        bytes_rejected: bytesRejected,
        bytes_left: left < 0 ? null : left,
        bytes_per_hour: expect.closeTo(world.rate(at, hours), 6) as number,
        traffic_hours: left < 0 ? null : (expect.closeTo(left / world.rate(at, hours), 6) as number),
        payer: 'validator',
        amulet_per_mb: '3.0000000000000000',
        price_source: 'external_party_config_state',
        amulet_hours: expect.closeTo(Number(units) / 30_000 / world.rate(at, hours), 6) as number,
      }));
      const runways = await history.runway(at);
      expect(runways.map(({ amulet_left: amulet }) => units === BigInt(String(amulet).replace('.', '')))).toEqual([
        true,
        true,
      ]);
      expect(runways, new Date(at).toISOString()).toMatchObject(expected);
    }
  });
});

describe('traffic that is bought again every hour', () => {
  let history: History;
  /** The Amulet is used by the purchase at this time. */
  const endOfAmulet = Math.floor(endOfTraffic / hour) * hour;
  const hourBefore = (at: number): readonly PlannedCommand[] =>
    commands.filter((command) => command.at >= at - hour && command.at < at);
  beforeAll(async () => {
    const initialBytes = 2_000_000n;
    const first = Math.floor((commands[0]?.at ?? 0) / hour) * hour + hour;
    const bytesAgain = (at: number): bigint =>
      BigInt(hourBefore(at).reduce((sum, command) => sum + costOf(command), 0));
    let units = trafficCost(initialBytes, amuletPrice);
    for (let at = first; at <= endOfAmulet; at += hour) units += trafficCost(bytesAgain(at), amuletPrice);
    history = await indexed(units, (world) => {
      world.buy((commands[0]?.at ?? 0) - 60_000, initialBytes, true);
      for (let at = first; at <= endOfAmulet; at += hour) {
        for (const command of hourBefore(at)) world.command(command);
        world.buy(at, bytesAgain(at), random.chance(0.5));
      }
    });
    expect(history.world.at(endOfAmulet + hour).units).toBe(0n);
  }, 240_000);
  const random = new Random(seed);
  afterAll(() => history[Symbol.asyncDispose]());

  it('uses its Amulet at the time that is forecast a day before, within 5 %, at both rates', async () => {
    const runways = await history.runway(endOfAmulet - day + 60_000);
    expect(runways).toHaveLength(2);
    for (const { amulet_hours: hours, amulet_ends_at: endsAt, reasons } of runways) {
      expect(reasons).toBe('');
      expect(Math.abs(Number(hours) - 24)).toBeLessThan(toleratedHours);
      expect(Math.abs(Number(endsAt) * 1000 - endOfAmulet) / hour).toBeLessThan(toleratedHours);
    }
  });

  it('has no Amulet left after the last purchase, instead of an unknown balance', async () => {
    const [runway] = await history.runway(endOfAmulet + 60_000);
    expect(runway).toMatchObject({ amulet_left: '0', amulet_hours: 0, reasons: '' });
  });
});

describe('metrics of the runway', () => {
  const metricOf = async (url: string, name: string): Promise<number | undefined> => {
    const line = (await (await fetch(`${url}/metrics`)).text()).split('\n').find((text) => text.startsWith(name));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };

  it('have the shortest time of both rates, and no series for a figure that is not known', async () => {
    const now = Math.floor(Date.now() / hour) * hour;
    const newest = plannedCommands(seed, 10, now - 9 * day - hour).filter(({ at }) => at < Date.now());
    await using sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    const world = new TrafficWorld(sandbox.ledger, trafficCost(10n ** 12n, amuletPrice), now - 9 * day - hour);
    world.buy(now - 9 * day - hour + 1, 10n ** 9n, false);
    for (const command of newest) world.command(command);
    await using database = await createTestDatabase();
    // Without interfaces, the Amulet of the payer is not known.
    await using indexer = await runIndexer({
      LEDGER_URL: sandbox.url,
      DATABASE_URL: database.url,
      INDEXER_START: 'genesis',
    });
    await indexer.completionsReach(sandbox.ledger.ledgerEnd(), 120_000);
    const series = (resource: string): string =>
      `indexer_traffic_runway_seconds{synchronizer="${sandbox.ledger.synchronizers[0].id}",resource="${resource}"}`;
    const seconds = await waitFor('the metric of traffic', () => metricOf(indexer.httpUrl, series('traffic')), 60_000);
    const { bytesBoughtByChoice, bytesPaid, bytesRejected } = world.at(Infinity);
    const left = bytesBoughtByChoice - bytesPaid - bytesRejected;
    const at = Date.now();
    const hours = Math.min(...[24, 168].map((window) => left / world.rate(at, window)));
    // An hour may end between the read and this line.
    expect(seconds / 3600 / hours).toBeCloseTo(1, 1);
    expect(await metricOf(indexer.httpUrl, series('amulet'))).toBeUndefined();
    expect(await metricOf(indexer.httpUrl, 'indexer_traffic_bought_timestamp_seconds')).toBeCloseTo(
      (world.purchases[0]?.at ?? 0) / 1000,
      2,
    );
  }, 180_000);
});
