/** Routes of the Global Synchronizer: traffic, validators and transfers of Amulet. */
import { equalTo, eventColumns, partyIn, rangeOf, rowsRoute, view, type Columns } from './route.ts';
import type { ApiArguments } from '../../model/push/read-api.ts';
import type { Statement } from './statement.ts';

const purchaseColumns: Columns = {
  offset: 'integer',
  update_id: 'text',
  effective_at: 'time',
  record_time: 'time',
  dso: 'text',
  member_id: 'text',
  synchronizer_id: 'text',
  migration_id: 'integer',
  purchases: 'integer',
  bytes: 'number',
  amulet_burnt: 'number',
  usd_burnt: 'number',
  provider: 'text',
  round: 'integer',
};
const purchaseKey = ['offset', 'dso', 'member_id', 'synchronizer_id', 'migration_id'];

const dso = equalTo('dso', 'Only contracts of this DSO party: anyone can create contracts that name another one.');

const trafficPurchases = rowsRoute({
  name: 'traffic_purchases',
  path: '/api/traffic-purchases',
  summary: 'Purchases of traffic',
  description: 'One row per purchase: member, bytes, and the Amulet and USD burnt for it.',
  columns: purchaseColumns,
  key: purchaseKey,
  optionalKey: ['migration_id'],
  from: view('traffic_purchases'),
  parameters: [
    equalTo('member_id', 'Only purchases for this member.'),
    equalTo('provider', 'Only purchases by this party.'),
    dso,
    ...rangeOf(),
  ],
});

/** SQL: purchases with sums up to each of them. The selection is inside, so that sums are of the selected purchases. */
function trafficTotals({ member_id: member, provider }: ApiArguments, statement: Statement): string {
  const conditions = [
    ...(member === undefined ? [] : [`t.member_id = ${statement.value(member, 'text')}`]),
    ...(provider === undefined ? [] : [`t.provider = ${statement.value(provider, 'text')}`]),
  ];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return `(select t.*, sum(t.bytes) over so_far as bytes_so_far, sum(t.amulet_burnt) over so_far as amulet_so_far,
                  sum(t.usd_burnt) over so_far as usd_so_far
             from ${statement.explore('traffic_purchases')} t ${where}
           window so_far as (order by t."offset", t.dso, t.member_id, t.synchronizer_id, t.migration_id))`;
}

const trafficRunningTotals = rowsRoute({
  name: 'traffic_totals',
  path: '/api/traffic-totals',
  summary: 'Running totals of bought traffic',
  description:
    'Purchases of a member or of a party, with the bytes, Amulet and USD of all purchases up to each of them.',
  columns: { ...purchaseColumns, bytes_so_far: 'number', amulet_so_far: 'number', usd_so_far: 'number' },
  key: purchaseKey,
  optionalKey: ['migration_id'],
  from: trafficTotals,
  parameters: [
    { name: 'member_id', kind: 'text', description: 'Sums of purchases for this member.' },
    { name: 'provider', kind: 'text', description: 'Sums of purchases by this party.' },
    ...rangeOf(),
  ],
});

const validators = rowsRoute({
  name: 'validators',
  path: '/api/validators',
  summary: 'Validators',
  description: 'One row per validator, across upgrades and renewals of its license.',
  columns: {
    dso: 'text',
    validator: 'text',
    status: 'text',
    last_active_at: 'time',
    first_round: 'integer',
    last_round: 'integer',
    missed_rounds: 'integer',
    version: 'text',
    contact_point: 'text',
    metadata_updated_at: 'time',
    sponsor: 'text',
    contract_id: 'text',
    package_version: 'text',
    licenses: 'integer',
    first_created_at: 'time',
    created_at_offset: 'integer',
    created_at: 'time',
    archived_at_offset: 'integer',
    archived_at: 'time',
  },
  key: ['validator', 'dso'],
  from: view('validators'),
  parameters: [equalTo('validator', 'Only this validator.'), dso],
});

const validatorHeartbeats = rowsRoute({
  name: 'validator_heartbeats',
  path: '/api/validator-heartbeats',
  summary: 'Heartbeats of validators',
  description:
    'One row per heartbeat. Older package versions keep the license contract; newer ones replace it (new_contract_id).',
  columns: {
    ...eventColumns,
    validator: 'text',
    choice: 'text',
    contract_id: 'text',
    new_contract_id: 'text',
    consuming: 'boolean',
    coupon_id: 'text',
    dso: 'text',
  },
  key: ['offset', 'node_id'],
  from: view('validator_heartbeats'),
  parameters: [
    equalTo('validator', 'Only heartbeats of this validator.'),
    equalTo('choice', 'Only heartbeats by this choice, such as ValidatorLicense_ReportActive.'),
    dso,
    ...rangeOf(),
  ],
});

const amuletTransfers = rowsRoute({
  name: 'amulet_transfers',
  path: '/api/amulet-transfers',
  summary: 'Transfers of Amulet',
  description: 'Transfers by the choices of the network, with senders, receivers, fees and collected rewards.',
  columns: {
    ...eventColumns,
    choice: 'text',
    dso: 'text',
    sender: 'text',
    provider: 'text',
    receivers: 'texts',
    amounts: 'numbers',
    amount: 'number',
    input_amount: 'number',
    change_amount: 'number',
    holding_fees: 'number',
    output_fees: 'number',
    change_fee: 'number',
    fees: 'number',
    app_rewards: 'number',
    validator_rewards: 'number',
    faucet_rewards: 'number',
    sv_rewards: 'number',
    unclaimed_rewards: 'number',
    development_rewards: 'number',
    amulet_price: 'number',
    round: 'integer',
  },
  key: ['offset', 'node_id'],
  from: view('amulet_transfers'),
  parameters: [
    partyIn('party', 'Only transfers that this party sent or received.', { sender: 'text', receivers: 'texts' }),
    dso,
    ...rangeOf(),
  ],
});

export const networkRoutes = [trafficPurchases, trafficRunningTotals, validators, validatorHeartbeats, amuletTransfers];
