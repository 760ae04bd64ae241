/** Times of the planned steps, from the opening of the first rounds. Live traffic has steps of its own. */
import type { Population } from '../market/population.ts';
import type { PlannedStep } from './step.ts';

const day = 86_400_000_000;
const coin = 10n ** 10n;
/** Days between two purchases of traffic, and the length of a period in which the steps of a month repeat. */
const trafficDays = 2;
const monthDays = 30;

/** A step, and its time in days after the begin. */
type Timed = readonly [days: number, step: PlannedStep];

/** Locks of CIP-0105: one grows old, one is unlocked in parts, one has several controllers, one ends. */
function aggregateLocks({ users, registrar }: Population, begin: number): readonly Timed[] {
  const [alice = '', bob = '', carol = '', , emil = ''] = users;
  const controllers = [emil, registrar];
  const oldLock = { initial: 36_525n * coin, start: begin - 358 * day, end: begin + 7.25 * day };
  return [
    [1, { do: 'aggregate-lock', key: 'lock-alice', owner: alice, units: 120_000n * coin }],
    [1.2, { do: 'aggregate-lock', key: 'lock-bob', owner: bob, units: 50_000n * coin }],
    [1.4, { do: 'vesting-lock', key: 'vesting-carol', owner: carol, units: 6_525n * coin, ...oldLock }],
    [1.6, { do: 'aggregate-lock', key: 'lock-emil', owner: emil, units: 80_000n * coin, controllers }],
    [3, { do: 'withdraw', key: 'vesting-carol', actors: [carol] }],
    [6, { do: 'unlock', key: 'lock-alice', into: 'vesting-alice', actors: [alice], units: 36_525n * coin }],
    [8, { do: 'unlock', key: 'lock-emil', into: 'vesting-emil', actors: controllers }],
    [9, { do: 'withdraw', key: 'vesting-carol', actors: [carol] }],
    ...[10, 14, 20, 27].map((days): Timed => [days, { do: 'withdraw', key: 'vesting-alice', actors: [alice] }]),
    [18, { do: 'withdraw', key: 'vesting-emil', actors: [registrar] }],
    [23, { do: 'withdraw', key: 'vesting-emil', actors: [emil] }],
  ];
}

/** Locks for two featured applications, of which one has enough, and for the rights of a super validator. */
function governanceLocks(people: Population, begin: number): readonly Timed[] {
  const { users, registrar, bondAgent, validators } = people;
  const [alice = '', , carol = '', dora = ''] = users;
  const [validator = ''] = validators;
  const forApp = (subject: string) => ({ kind: 'GLK_FeaturedApp', subject }) as const;
  const forValidator = { kind: 'GLK_SuperValidatorRightsOwner', subject: 'validator-1' } as const;
  const lockFor = (key: string, owner: string, coins: bigint) => ({ key, owner, units: coins * coin });
  return [
    [2, { do: 'governance-lock', ...lockFor('app-registrar', registrar, 3_000_000n), ...forApp(registrar) }],
    [2.2, { do: 'governance-lock', ...lockFor('app-alice', alice, 2_500_000n), ...forApp(registrar) }],
    [2.4, { do: 'governance-lock', ...lockFor('app-bonds', bondAgent, 1_250_000n), ...forApp(bondAgent) }],
    [2.6, { do: 'governance-lock', ...lockFor('rights', validator, 750_000n), ...forValidator }],
    [
      1.1,
      {
        do: 'governance-vesting',
        ...lockFor('old-dora', dora, 11_000n),
        ...forApp(bondAgent),
        end: secondOf(begin + 12 * day),
      },
    ],
    [
      1.3,
      {
        do: 'governance-vesting',
        ...lockFor('old-carol', carol, 9_000n),
        ...forApp(registrar),
        end: secondOf(begin + 9 * day),
      },
    ],
    [5, { do: 'governance-unlock', key: 'app-alice', into: 'app-vesting', owner: alice, units: 300_000n * coin }],
    [6.5, { do: 'governance-withdraw', key: 'old-dora', owner: dora }],
    [7, { do: 'governance-unlock', key: 'rights', into: 'rights-vesting', owner: validator, units: 100_000n * coin }],
    [10.5, { do: 'governance-expire', key: 'old-carol' }],
    [12, { do: 'governance-withdraw', key: 'app-vesting', owner: alice }],
    [13, { do: 'governance-withdraw', key: 'old-dora', owner: dora }],
    [22, { do: 'governance-withdraw', key: 'app-vesting', owner: alice }],
    [25, { do: 'governance-withdraw', key: 'rights-vesting', owner: validator }],
    [66, { do: 'governance-withdraw', key: 'app-vesting', owner: alice }],
  ];
}

/** A time without fractions of a second. */
function secondOf(at: number): number {
  return Math.floor(at / 1_000_000) * 1_000_000;
}

/** Ordinary locks, of which some are still there at the end of a month. */
function otherLocks({ users, venue, bank }: Population, begin: number): readonly Timed[] {
  const [alice = '', bob = '', carol = '', dora = '', , fatima = '', goran = '', hana = ''] = users;
  const lockFor = (key: string, owner: string, coins: bigint) => ({ key, owner, units: coins * coin });
  const until = (days: number) => ({ end: secondOf(begin + days * day) });
  const order = { holder: venue, context: 'goods of order 7731 in escrow' };
  return [
    [3.1, { do: 'escrow', ...lockFor('escrow-dora', dora, 4_200n), ...order, ...until(400) }],
    [3.2, { do: 'escrow', ...lockFor('escrow-fatima', fatima, 2_750n), holder: bank, context: null, ...until(400) }],
    [3.3, { do: 'escrow', ...lockFor('escrow-goran', goran, 1_900n), ...order, ...until(10) }],
    [4, { do: 'commit', ...lockFor('subscription-hana', hana, 1_200n), ...until(400) }],
    [11, { do: 'iterate', key: 'subscription-hana', units: 1_000n * coin }],
    [15, { do: 'allocate', ...lockFor('order-7802', bob, 640n), receiver: carol, ...until(16) }],
    [15.5, { do: 'take-back', key: 'order-7802', owner: bob }],
    [21, { do: 'iterate', key: 'subscription-hana', units: 800n * coin }],
    [24, { do: 'allocate', ...lockFor('order-7911', alice, 880n), receiver: dora, ...until(400) }],
    [25.2, { do: 'offer', ...lockFor('gift to carol', dora, 310n), receiver: carol, ...until(400) }],
  ];
}

/** Names: some last, one is renewed, one has expired, and one was archived after its end. */
function nameEntries({ users, registrar }: Population, begin: number): readonly Timed[] {
  const [alice = '', bob = '', carol = '', dora = ''] = users;
  const until = (days: number) => ({ end: begin + days * day });
  return [
    [0.6, { do: 'name', key: 'name-alice', user: alice, ...until(400) }],
    [0.7, { do: 'name', key: 'name-registrar', user: registrar, ...until(400) }],
    [0.8, { do: 'name', key: 'name-bob', user: bob, ...until(20) }],
    [0.9, { do: 'name', key: 'name-carol', user: carol, ...until(10) }],
    [0.95, { do: 'name', key: 'name-dora', user: dora, ...until(8) }],
    [9.5, { do: 'expire-name', key: 'name-dora' }],
    [19, { do: 'renew-name', key: 'name-bob', user: bob, days: 90 }],
  ];
}

/** Steps that repeat in every later month of a long history. */
function laterMonth({ users, registrar, bondAgent }: Population, month: number): readonly Timed[] {
  const [alice = '', , , , emil = '', fatima = ''] = users;
  const at = (days: number): number => month * monthDays + days;
  const key = `lock-${String(month)}`;
  const into = `vesting-${String(month)}`;
  const appVesting = `app-vesting-${String(month)}`;
  return [
    [at(2), { do: 'aggregate-lock', key, owner: fatima, units: BigInt(10_000 + 500 * month) * coin }],
    [at(5), { do: 'withdraw', key: 'vesting-alice', actors: [alice] }],
    [at(9), { do: 'unlock', key, into, actors: [fatima], units: 7_305n * coin }],
    [at(11), { do: 'governance-unlock', key: 'app-bonds', into: appVesting, owner: bondAgent, units: 50_000n * coin }],
    [at(14), { do: 'withdraw', key: 'vesting-emil', actors: [emil, registrar].slice(month % 2, (month % 2) + 1) }],
    [at(17), { do: 'withdraw', key: into, actors: [fatima] }],
    [at(19), { do: 'renew-name', key: 'name-bob', user: users[1] ?? '', days: 30 }],
    [at(24), { do: 'withdraw', key: 'vesting-alice', actors: [alice] }],
    [at(27), { do: 'withdraw', key: into, actors: [fatima] }],
    [at(28), { do: 'governance-withdraw', key: appVesting, owner: bondAgent }],
    [at(72), { do: 'governance-expire', key: appVesting }],
  ];
}

/**
 * The planned steps of a history, with their times in microseconds since 1970.
 * @param begin time of the opening of the first rounds
 * @param end begin of the live traffic
 */
export function plannedSteps(people: Population, begin: number, end: number): (readonly [number, PlannedStep])[] {
  const days = (end - begin) / day;
  const purchases = Array.from({ length: Math.max(1, Math.ceil(days / trafficDays)) }, (_, index): Timed => {
    return [index * trafficDays, { do: 'buy-traffic', by: index % 2 === 0 ? 'rules' : 'transfer' }];
  });
  const later = Array.from({ length: Math.max(0, Math.ceil(days / monthDays) - 1) }, (_, index) =>
    laterMonth(people, index + 1),
  );
  const steps: readonly Timed[] = [
    ...purchases,
    ...nameEntries(people, begin),
    ...aggregateLocks(people, begin),
    ...governanceLocks(people, begin),
    ...otherLocks(people, begin),
    ...later.flat(),
  ];
  return steps.map(([after, step]) => [begin + Math.round(after * day) + 1_000_000, step]);
}
