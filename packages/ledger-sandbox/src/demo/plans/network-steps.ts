/** Planned steps of the network: names of users, and traffic of this participant. */
import { textAt } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { buyByRules, transferTrafficFee } from '../market/issuance.ts';
import { names } from '../templates/names.ts';
import { trafficCost } from '../templates/traffic.ts';
import type { Plan } from './plan.ts';
import type { StepOf } from './step.ts';

const day = 86_400_000_000;
/** Bytes of traffic in one purchase. */
const trafficBytes = 10_000_000n;
/** Number of traffic contracts that are merged into one. */
const manyPurchases = 4;

/** A user registers its name. */
export function register(plan: Plan, { key, user, end }: StepOf<'name'>, at: number): boolean {
  const { dso } = plan.state.people;
  const hint = user.split('::')[0] ?? '';
  const argument = {
    user,
    dso,
    name: `${hint}.unverified.cns`,
    url: `https://${hint}.example.com`,
    description: `Entry of ${hint}`,
    expiresAt: formatTimestamp(end),
  };
  const templateId = `#${names.nameEntry}`;
  const transaction = plan.submit([user, dso], { kind: 'create', templateId, argument }, at, 'names');
  plan.keep(key, plan.state.made(transaction, names.nameEntry));
  return true;
}

export function renewName(plan: Plan, { key, user, days }: StepOf<'renew-name'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const argument = { extension: { microseconds: String(days * day) } };
  const command = { kind: 'exercise', contractId, choice: 'AnsEntry_Renew', argument } as const;
  const transaction = plan.submit([user, plan.state.people.dso], command, at, 'names');
  plan.keep(key, plan.state.made(transaction, names.nameEntry));
  return true;
}

export function expireName(plan: Plan, { key }: StepOf<'expire-name'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const { dso } = plan.state.people;
  plan.submit(
    [dso],
    { kind: 'exercise', contractId, choice: 'AnsEntry_Expire', argument: { actor: dso } },
    at,
    'names',
  );
  return true;
}

const purchaseKeys = Array.from({ length: manyPurchases }, (_, index) => `traffic ${String(index)}`);

/** The validator of this participant buys traffic, in one of the two ways, with exactly its price. */
export function buyTraffic(plan: Plan, step: StepOf<'buy-traffic'>, at: number): boolean {
  const { state } = plan;
  const [owner = ''] = state.people.validators;
  const price = step.by === 'rules' ? state.roundPrice() : state.configPrice();
  const units = trafficCost(trafficBytes, price);
  const holding = plan.fundsFor({ ...step, key: 'traffic', owner, units }, at);
  if (holding === undefined) return true;
  if (textAt(state.payload(holding), 'amount', 'initialAmount') !== formatNumeric(units)) {
    // The price has changed since the Amulet was minted.
    plan.keep('traffic funds', '');
    return buyTraffic(plan, step, at);
  }
  const memberId = `PAR::${state.ledger.participantId}`;
  const synchronizerId = state.ledger.synchronizers[0].id;
  const purchase = { memberId, synchronizerId, migrationId: '0', bytes: trafficBytes };
  const buy = step.by === 'rules' ? buyByRules : transferTrafficFee;
  const transaction = buy(state, owner, [holding], purchase, plan.options(at));
  const key = purchaseKeys.find((candidate) => plan.find(candidate) === undefined) ?? '';
  plan.keep(key, state.made(transaction, names.memberTraffic));
  if (key === purchaseKeys.at(-1)) plan.later(at + 60_000_000, { do: 'merge-traffic' });
  return true;
}

/** Merges the purchases into one contract, so that their number does not grow. */
export function mergeTraffic(plan: Plan, at: number): boolean {
  const trafficCids = purchaseKeys.flatMap((key) => plan.find(key) ?? []);
  if (trafficCids.length < 2) return false;
  const contractId = plan.state.single(names.amuletRules);
  const choice = 'AmuletRules_MergeMemberTrafficContracts';
  const { dso } = plan.state.people;
  const argument = { trafficCids };
  const transaction = plan.submit([dso], { kind: 'exercise', contractId, choice, argument }, at, 'traffic');
  plan.keep(purchaseKeys[0] ?? '', plan.state.made(transaction, names.memberTraffic));
  return true;
}
