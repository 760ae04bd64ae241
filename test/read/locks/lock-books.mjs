/**
 * Books of locks: reads frames of updates, one JSON object per line, from standard input. After every update it checks
 * that the amounts of all reasons add up to the balance of each account. It prints the state after each update that
 * changed a lock, and after every nth update. It reads only payloads of contracts, and shares no code with the indexer,
 * the sandbox or other tests. `node lock-books.mjs N`
 */
import { createInterface } from 'node:readline';

const scale = 10n ** 10n;

/** Converts a Numeric to units of 10^-10. */
function units(text) {
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole) * scale + BigInt(fraction.padEnd(10, '0'));
}

/** Microseconds since 1970. */
function micros(time) {
  const [, date, fraction = ''] = /^(.+?)(?:\.(\d+))?Z$/.exec(time);
  return BigInt(Date.parse(`${date}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}

/** Quotient of two integers, halves rounded to the even neighbor. */
function divide(one, other) {
  const quotient = one / other;
  const rest = 2n * (one - quotient * other);
  return rest > other || (rest === other && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

const entityOf = (templateId) => templateId.slice(templateId.lastIndexOf(':') + 1);

/** Key of an account and instrument. */
function keyOf(owner, admin, instrument, provider, id) {
  return [owner, provider, id, admin, instrument].map((part) => part ?? '').join(' ');
}

/** The holding in a contract: key, owner, units and lock; undefined if it is not a holding. */
function holdingOf(entity, payload) {
  const lockOf = (lock) =>
    lock == null
      ? null
      : {
          holders: lock.holders,
          until: lock.expiresAt == null ? null : micros(lock.expiresAt),
          text: lock.context ?? lock.optContext ?? null,
        };
  const simple = (owner, admin, instrument, amount, lock) => ({
    key: keyOf(owner, admin, instrument),
    owner,
    units: units(amount),
    lock: lockOf(lock),
  });
  switch (entity) {
    case 'Amulet':
      return simple(payload.owner, payload.dso, 'Amulet', payload.amount.initialAmount);
    case 'LockedAmulet': {
      const { owner, dso, amount } = payload.amulet;
      return simple(owner, dso, 'Amulet', amount.initialAmount, payload.lock);
    }
    case 'Token':
      if (payload.holding === undefined)
        return simple(payload.owner, payload.registrar, 'EURX', payload.amount, payload.lock);
      return inAccount(payload.holding);
    case 'BondHolding':
      return simple(payload.owner, payload.registrar, payload.isin, payload.amount, payload.lock);
    case 'DummyHolding':
      return simple(payload.owner, payload.issuer, 'DummyHolding', payload.amount);
    case 'Deposit':
      return inAccount(payload);
    default:
      return undefined;
  }
  function inAccount({ account, instrumentId, amount, lock }) {
    const key = keyOf(account.owner, instrumentId.admin, instrumentId.id, account.provider, account.id);
    return { key, owner: account.owner, units: units(amount), lock: lockOf(lock) };
  }
}

/** The locks that a contract explains: reason, ids of holdings, and the terms of vesting; undefined if it explains no lock. */
function explanationOf(entity, payload) {
  if (entity === 'GovernanceLock' || entity === 'VestingLock') {
    const [reason, amount] =
      entity === 'GovernanceLock' ? ['governance_lock', payload.amount] : ['vesting_lock', payload.vestingAmount];
    const { tag, value } = payload.specification.kind;
    const app = tag === 'GLK_FeaturedApp' ? value.provider : undefined;
    const lock = { reason, ids: [payload.lockedAmulet], app, rank: 1, units: units(amount), dso: payload.dso };
    if (entity === 'GovernanceLock') return lock;
    const end = micros(payload.endTime);
    const start = end - BigInt(payload.vestingPeriod.microseconds);
    return { ...lock, vested: (at) => vestedByTemplate(units(amount), start, end, at) };
  }
  const meta = payload.allocation?.meta?.values ?? {};
  if (meta['cip-105/type'] === 'aggregateLock')
    return { reason: 'aggregate_lock', ids: [payload.lockedAmulet], rank: 1 };
  if (meta['cip-105/type'] === 'vestingLock') {
    const left = units(Object.values(payload.allocation.nextIterationFunding)[0]);
    const initial = meta['cip-105/vestingLock.initialAmount'];
    const start = micros(meta['cip-105/vestingLock.startDate']);
    const end = micros(meta['cip-105/vestingLock.endDate']);
    const vested = (at) => vestedByAllocation(initial === undefined ? left : units(initial), left, start, end, at);
    return { reason: 'vesting_lock', ids: [payload.lockedAmulet], rank: 1, vested };
  }
  const ids = payload.setAside?.holdingCids ?? [payload.lockedAmulet ?? payload.holdingCid].filter((id) => id != null);
  if (payload.setAside !== undefined || payload.allocation !== undefined) return { reason: 'allocation', ids, rank: 2 };
  if (payload.transfer?.inputHoldingCids !== undefined)
    return { reason: 'transfer', ids: [...ids, ...payload.transfer.inputHoldingCids], rank: 3 };
  return undefined;
}

/** Share of the elapsed time with ten decimal places, then its product with the amount. */
function vestedByAllocation(initial, left, start, end, at) {
  if (at >= end) return left;
  if (at <= start) return 0n;
  const share = divide((at - start) * scale, end - start);
  const vested = divide(initial * share, scale) - (initial - left);
  return vested < 0n ? 0n : vested < left ? vested : left;
}

/** Product of the amount and the remaining seconds with ten decimal places, then its quotient. */
function vestedByTemplate(left, start, end, at) {
  if (at >= end) return left;
  if (at <= start) return 0n;
  const product = divide(left * (end - at), 1_000_000n);
  return left - divide(product * 1_000_000n, end - start);
}

function reasonByText(owner, { text, holders }) {
  if (text?.startsWith('transfer to ')) return 'transfer';
  if (text?.startsWith('allocation for ')) return 'allocation';
  if (text?.startsWith('Locked to support ')) return 'governance_lock';
  if (text?.startsWith('Unlocking from supporting ')) return 'vesting_lock';
  return text != null && text !== '' && holders.some((holder) => holder !== owner) ? 'conditional' : 'other';
}

const holdings = new Map();
const explanations = new Map();
const featured = new Map();
/** Balance of each account, changed by each holding that begins or ends. */
const balances = new Map();

/** Contracts that begin, and ids of contracts that end, in the order of the events. */
function* changesOf(update) {
  const events = update.Transaction?.value.events ?? update.Reassignment?.value.events ?? [];
  for (const event of events) {
    const created = event.CreatedEvent ?? event.JsAssignmentEvent?.createdEvent;
    const ended =
      event.ArchivedEvent?.contractId ??
      (event.ExercisedEvent?.consuming === true ? event.ExercisedEvent.contractId : undefined) ??
      event.JsUnassignedEvent?.value.contractId;
    if (created !== undefined) yield { created };
    if (ended !== undefined) yield { ended };
  }
}

function add(sums, key, amount) {
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}

/** Applies an update to the books. Returns whether it changed a lock. */
function apply(update) {
  let changed = false;
  for (const { created, ended } of changesOf(update)) {
    if (ended !== undefined) {
      const holding = holdings.get(ended);
      if (holding !== undefined) add(balances, holding.key, -holding.units);
      changed ||= holding?.lock != null || explanations.has(ended) || featured.has(ended);
      for (const contracts of [holdings, explanations, featured]) contracts.delete(ended);
      continue;
    }
    const { contractId, templateId, createArgument: payload } = created;
    const entity = entityOf(templateId);
    const holding = holdingOf(entity, payload);
    const explanation = holding === undefined ? explanationOf(entity, payload) : undefined;
    if (holding !== undefined) {
      holdings.set(contractId, holding);
      add(balances, holding.key, holding.units);
    }
    if (explanation !== undefined) explanations.set(contractId, explanation);
    if (entity === 'FeaturedAppRight') featured.set(contractId, `${payload.dso} ${payload.provider}`);
    changed ||= holding?.lock != null || explanation !== undefined || entity === 'FeaturedAppRight';
  }
  return changed;
}

/** The explaining contract of each holding id. */
function explainedHoldings() {
  const explained = new Map();
  for (const explanation of explanations.values()) {
    for (const id of explanation.ids) {
      const other = explained.get(id);
      if (other === undefined || explanation.rank < other.rank) explained.set(id, explanation);
    }
  }
  return explained;
}

/** Active and vesting locks of each app, and whether it is featured. */
function appLocks() {
  const apps = {};
  const appOf = (key) => (apps[key] ??= { featured: false, locked: 0n, vesting: 0n });
  for (const key of featured.values()) appOf(key).featured = true;
  for (const { app, dso, reason, units: amount } of explanations.values()) {
    if (app !== undefined) appOf(`${dso} ${app}`)[reason === 'governance_lock' ? 'locked' : 'vesting'] += amount;
  }
  return apps;
}

function stateAt(time) {
  const explained = explainedHoldings();
  const [sums, amounts, available, withdrawable] = [new Map(), new Map(), new Map(), {}];
  for (const [id, { key: account, lock, units: amount, owner }] of holdings) {
    const explanation = lock === null ? undefined : explained.get(id);
    const reason = lock === null ? 'free' : (explanation?.reason ?? reasonByText(owner, lock));
    const key = `${account} ${reason}`;
    add(sums, account, amount);
    add(amounts, key, amount);
    const isFree = lock === null || (lock.until !== null && lock.until <= time);
    add(available, key, isFree ? amount : 0n);
    if (explanation?.vested === undefined) continue;
    const vested = explanation.vested(time);
    withdrawable[id] = vested < amount ? vested : amount;
  }
  for (const [account, balance] of balances) {
    if ((sums.get(account) ?? 0n) !== balance) throw new Error(`the parts of ${account} do not add up`);
  }
  const totals = Object.fromEntries([...balances].filter(([, balance]) => balance !== 0n));
  return {
    totals,
    amounts: Object.fromEntries(amounts),
    available: Object.fromEntries(available),
    withdrawable,
    apps: appLocks(),
  };
}

const every = Number(process.argv[2]);
const asText = (_, value) => (typeof value === 'bigint' ? String(value) : value);
let [time, updates] = [0n, 0];
for await (const line of createInterface({ input: process.stdin })) {
  const { update } = JSON.parse(line);
  const { effectiveAt, offset } = Object.values(update)[0].value;
  if (update.Transaction !== undefined) time = micros(effectiveAt);
  const hasChanged = apply(update);
  const state = stateAt(time);
  updates += 1;
  if (hasChanged || updates % every === 0) process.stdout.write(`${JSON.stringify({ offset, ...state }, asText)}\n`);
}
