/** A missing input of traffic_runway makes its figures null, and the reason names the input. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { identity } from '../../support/schemas.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { dso, exercisedEvent, made, summary } from './network-frames.ts';

const ownMember = `PAR::${identity.participantId}`;
const validator = 'validator::1220aa';
const entity = 'DecentralizedSynchronizer:MemberTraffic';
const rules = 'AmuletRules:AmuletRules';
const hourMs = 3_600_000;
const beginning = Date.UTC(2026, 7, 1, 6);
const at = beginning + 8 * 24 * hourMs + 5 * 60_000;
const timeOf = (ms: number): string => new Date(ms).toISOString();

const bought = { memberId: ownMember, synchronizerId: frames.here, migrationId: '0' };
const traffic = {
  dso,
  ...bought,
  totalPurchased: '1000000',
  numPurchases: '1',
  amuletSpent: '3.0',
  usdSpent: '0.015',
};

/** Frames of a history in which every input is known, with an update every six hours. */
function historyFrom(firstOffset: number): readonly frames.JsonRecord[] {
  const update = (
    index: number,
    ms: number,
    events: frames.Json[],
    paidTrafficCost: number | null,
  ): frames.JsonRecord =>
    frames.transaction(firstOffset + index, events, {
      effectiveAt: timeOf(ms),
      recordTime: timeOf(ms),
      paidTrafficCost,
    });
  const config = { dso, trafficPrice: '0.015', amuletPrice: '0.005' };
  const purchase = exercisedEvent('00rules', rules, 'AmuletRules_BuyMemberTraffic', {
    by: [validator],
    last: 1,
    argument: { provider: validator, ...bought, trafficAmount: '1000000', expectedDso: dso },
    result: { round: { number: '7' }, summary: summary(), amuletPaid: '3.0', purchasedTraffic: '00t' },
  });
  return [
    update(1, beginning, [made('00config', 'ExternalPartyConfigState:ExternalPartyConfigState', config)], null),
    update(2, beginning + 1, [purchase, made('00traffic', entity, traffic, 1)], null),
    ...Array.from({ length: 32 }, (_, index) =>
      update(index + 3, beginning + (index + 1) * 6 * hourMs, [exercisedEvent('00x', rules, 'X')], 1_000),
    ),
  ];
}

/** SQL: the contracts that count purchases are not visible. */
const withoutContracts = `delete from live where template_pk in (select template_pk from templates where entity_name = 'MemberTraffic')`;

const columns = `bytes_bought_reason as bought, bytes_paid_reason as paid, bytes_left_reason as "left", bytes_per_hour_reason as rate,
  traffic_reason as traffic, amulet_left_reason as amulet, amulet_per_mb_reason as price, amulet_reason as "amuletHours"`;
/** Figures and the columns of their reasons: a figure is null exactly if it has a reason. */
const consistent = `num_nulls(bytes_bought, bytes_bought_reason) = 1 and (bytes_rejected is null) = (bytes_paid_reason is not null)
  and num_nulls(bytes_left, bytes_left_reason) = 1 and num_nulls(bytes_per_hour, bytes_per_hour_reason) = 1
  and num_nulls(traffic_hours, traffic_reason) = 1 and num_nulls(traffic_ends_at, traffic_reason) = 1
  and num_nulls(amulet_left, amulet_left_reason) = 1 and num_nulls(amulet_per_mb, amulet_per_mb_reason) = 1
  and num_nulls(amulet_hours, amulet_reason) = 1 and num_nulls(amulet_ends_at, amulet_reason) = 1`;

type Reasons = Readonly<
  Record<'bought' | 'paid' | 'left' | 'rate' | 'traffic' | 'amulet' | 'price' | 'amuletHours', string | null>
>;
const known: Reasons = {
  bought: null,
  paid: null,
  left: null,
  rate: null,
  traffic: null,
  amulet: null,
  price: null,
  amuletHours: null,
};

async function prepare(database: ReadDatabase, firstOffset: number): Promise<void> {
  await database.writeTogether(historyFrom(firstOffset));
  await database.query(
    `insert into completion_ranges (from_offset, to_offset, parties) select ${String(firstOffset)}, checkpoint, '{}' from stream`,
  );
  await database.query(
    `insert into filter_interfaces (interface_id, state, complete_from)
     values ('#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding', 'followed', ${String(firstOffset)})`,
  );
}

/** Reasons of the rows with the rate of a day and of a week, after statements that are rolled back. */
async function reasonsAfter(database: ReadDatabase, change: string, time = at): Promise<readonly Reasons[]> {
  await database.query('begin');
  try {
    if (change !== '') await database.query(change);
    const rows = await database.query<Reasons & { consistent: boolean }>(
      `select ${columns}, ${consistent} as consistent from explore.traffic_runway_at('${timeOf(time)}') order by rate_over`,
    );
    expect(rows.filter((row) => !row.consistent)).toEqual([]);
    return rows.map(({ bought: ofBytes, paid, left, rate, traffic: ofTraffic, amulet, price, amuletHours }) => ({
      bought: ofBytes,
      paid,
      left,
      rate,
      traffic: ofTraffic,
      amulet,
      price,
      amuletHours,
    }));
  } finally {
    await database.query('rollback');
  }
}

/** The same reason for a figure and for the figures that need it. */
function because(reason: string, ...figures: readonly (keyof Reasons)[]): Reasons {
  return { ...known, ...Object.fromEntries(figures.map((figure) => [figure, reason])) };
}

describe('traffic_runway of a history from the first update', () => {
  let database: ReadDatabase;
  beforeAll(async () => {
    database = await createReadDatabase();
    await prepare(database, 0);
  });
  afterAll(() => database[Symbol.asyncDispose]());

  it('has every figure if no input is missing', async () => {
    expect(await reasonsAfter(database, '')).toEqual([known, known]);
    expect(
      await database.query(
        `select rate_over::text, bytes_left::int, bytes_per_hour::float8, traffic_hours::float8, amulet_hours::float8, price_source
           from explore.traffic_runway_at('${timeOf(at)}') order by rate_over`,
      ),
    ).toEqual([
      {
        rate_over: '1 day',
        bytes_left: 968_000,
        bytes_per_hour: 4000 / 24,
        traffic_hours: 5808,
        amulet_hours: 0,
        price_source: 'external_party_config_state',
      },
      {
        rate_over: '7 days',
        bytes_left: 968_000,
        bytes_per_hour: 4000 / 24,
        traffic_hours: 5808,
        amulet_hours: 0,
        price_source: 'external_party_config_state',
      },
    ]);
  });

  const paidFigures = ['paid', 'left', 'rate', 'traffic', 'amuletHours'] as const;
  const restOfPurchase = ['bought', 'left', 'traffic', 'amulet', 'price', 'amuletHours'] as const;
  it.each<[input: string, change: string, reasons: Reasons, ofWeek?: Reasons]>([
    [
      'a purchase',
      `update contracts set payload = payload || '{"memberId": "PAR::other"}' where payload ->> 'memberId' = '${ownMember}';
       update exercises set argument = argument || '{"memberId": "PAR::other"}' where argument ->> 'memberId' = '${ownMember}'`,
      because('no purchase for this member is visible', ...restOfPurchase),
    ],
    [
      'one migration',
      `update exercises set argument = argument || '{"migrationId": "1"}' where argument ->> 'memberId' = '${ownMember}'`,
      {
        ...because('there are purchases of several migrations', 'bought', 'left', 'traffic'),
        amulet: 'no purchase with its payer is visible',
        amuletHours: 'no purchase with its payer is visible',
      },
    ],
    [
      'a filter without limits',
      `set local session_replication_role = replica; update stream set filter = filter || '{"parties": ["a"]}'`,
      because(
        'the filter excludes parties or templates, so some updates that cost traffic are not stored',
        ...paidFigures,
      ),
    ],
    [
      'new updates',
      `update stream set checkpoint_record_time = checkpoint_record_time - interval '6 minutes'`,
      because('updates up to this time are not stored yet', ...paidFigures),
    ],
    [
      'an update in quarantine',
      `insert into quarantine ("offset", code, problem, frame, epoch) values (9, 'X', 'a test', '', 1)`,
      because('an update is in quarantine, so its cost is not known', ...paidFigures),
    ],
    [
      'completions',
      'delete from completion_ranges',
      because('completions are not stored, so the cost of rejected commands is not known', ...paidFigures),
    ],
    [
      'completions of all parties',
      `update completion_ranges set parties = '{a}'`,
      because(
        'completions of some parties are not stored, so the cost of their rejected commands is not known',
        ...paidFigures,
      ),
    ],
    [
      'new completions',
      'update completion_ranges set to_offset = 32',
      because('completions up to this time are not stored yet', ...paidFigures),
    ],
    [
      'completions of the beginning',
      'update completion_ranges set from_offset = 15',
      because(
        'completions begin after the history, so the cost of earlier rejected commands is not known',
        'paid',
        'left',
        'traffic',
      ),
      {
        ...because(
          'completions begin after the history, so the cost of earlier rejected commands is not known',
          'paid',
          'left',
          'traffic',
        ),
        rate: 'completions begin within the time of the rate',
        amuletHours: 'completions begin within the time of the rate',
      },
    ],
    [
      'a rate above zero',
      `update activity_hourly set paid_traffic_cost = 0 where hour > '${timeOf(at - 30 * hourMs)}'`,
      because('nothing was paid in the time of the rate', 'traffic', 'amuletHours'),
      known,
    ],
    [
      'a price',
      `update contracts set payload = payload - 'trafficPrice' where payload ? 'trafficPrice'`,
      because('no open round and no ExternalPartyConfigState with a price is visible', 'price', 'amuletHours'),
    ],
    [
      'a price of the same DSO',
      `update contracts set payload = payload || '{"dso": "Mallory"}' where payload ? 'trafficPrice'`,
      because('no open round and no ExternalPartyConfigState with a price is visible', 'price', 'amuletHours'),
    ],
    [
      'holdings in the filter',
      'delete from filter_interfaces',
      because('holdings are not in the filter, or their views are not complete at this time', 'amulet', 'amuletHours'),
    ],
    [
      'a payer',
      `update exercises set choice_pk = (select min(choice_pk) from choices where choice = 'X')`,
      because('no purchase with its payer is visible', 'amulet', 'amuletHours'),
    ],
    [
      'more bought than paid',
      `update activity_hourly set paid_traffic_cost = 600000 where paid_traffic_cost > 0 and hour < '${timeOf(beginning + 13 * hourMs)}'`,
      because('more was paid than bought, so the base rate paid a part', 'left', 'traffic'),
    ],
    [
      'updates before a gap',
      `update coverage set to_offset = 8;
       insert into coverage (from_offset, origin, filter_hash, transaction_shape, reason) values (10, 'reseed', 'f', 'LEDGER_EFFECTS', 'a test')`,
      because('updates before a gap in the history are not known', 'paid', 'left', 'traffic'),
      {
        ...because('updates before a gap in the history are not known', 'paid', 'left', 'traffic'),
        rate: 'the history begins within the time of the rate',
        amuletHours: 'the history begins within the time of the rate',
      },
    ],
    [
      'old purchases',
      `${withoutContracts}; update stream set pruned_to_offset = 2`,
      because('old purchases were pruned, and contracts MemberTraffic are not visible', 'bought', 'left', 'traffic'),
    ],
  ])('names a missing input: %s', async (_, change, reasons, ofWeek = reasons) => {
    expect(await reasonsAfter(database, change)).toEqual([reasons, ofWeek]);
  });

  it('names a history that is shorter than the time of a rate, and a time before the history', async () => {
    const short = because('the history begins within the time of the rate', 'rate', 'traffic', 'amuletHours');
    expect(await reasonsAfter(database, '', beginning + 30 * hourMs)).toEqual([known, short]);
    const before = await reasonsAfter(database, '', beginning - hourMs);
    expect(new Set(before.flatMap(({ paid, rate }) => [paid, rate]))).toEqual(
      new Set(['no history is stored at this time']),
    );
  });
});

describe('traffic_runway of a history that begins later', () => {
  const seedOffset = 100;
  const activeTraffic = frames.activeEntry({
    contractId: '00old',
    offset: 90,
    templateId: `${'0b'.repeat(32)}:Splice.${entity}`,
    packageName: 'splice-amulet',
    createArgument: { ...traffic, totalPurchased: '500' },
  });
  it('names traffic that was bought before', async () => {
    await using database = await createReadDatabase('ledger', { offset: seedOffset, entries: [activeTraffic] });
    await prepare(database, seedOffset);
    const reasons = because('traffic was bought before the history begins', 'left', 'traffic');
    expect(await reasonsAfter(database, '')).toEqual([reasons, reasons]);
    // If all purchases are in the history, nothing was paid before.
    expect(await reasonsAfter(database, `${withoutContracts} and "offset" <= ${String(seedOffset)}`)).toEqual([
      known,
      known,
    ]);
    const hidden = because(
      'the history begins after the first update, and contracts MemberTraffic are not visible',
      'bought',
      'left',
      'traffic',
    );
    expect(await reasonsAfter(database, withoutContracts)).toEqual([hidden, hidden]);
  });
});
