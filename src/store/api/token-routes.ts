/** Routes of tokens: balances, holdings, and what moved. */
import { readStatementIn } from './account-statement.ts';
import {
  equalTo,
  eventColumns,
  isTrue,
  partyIn,
  rangeOf,
  rowsRoute,
  view,
  type Columns,
  type ObjectRoute,
  type RouteParameter,
} from './route.ts';

const account: Columns = {
  owner: 'text',
  provider: 'text',
  account_id: 'text',
  instrument_admin: 'text',
  instrument_id: 'text',
};

const instrument: readonly RouteParameter[] = [
  equalTo('instrument_id', 'Only this instrument. Several admins may use the same name.'),
  equalTo('instrument_admin', 'Only instruments of this admin.'),
];

const owner = partyIn('owner', 'Only accounts of this party.', { owner: 'text' });

const balances = rowsRoute({
  name: 'balances',
  path: '/api/balances',
  summary: 'Token balances',
  description:
    'Sums of the holdings by account and instrument: total, locked, unlocked, and available, which includes expired locks.',
  columns: {
    ...account,
    total: 'number',
    locked: 'number',
    unlocked: 'number',
    available: 'number',
    holdings: 'integer',
  },
  key: ['owner', 'provider', 'account_id', 'instrument_admin', 'instrument_id'],
  from: ({ at }, statement) =>
    typeof at === 'object' && 'offset' in at
      ? `${statement.explore('token_balances_at')}(${statement.value(at.offset, 'bigint')})`
      : statement.explore('token_balances'),
  knownPositions: ['at'],
  parameters: [
    owner,
    ...instrument,
    { name: 'at', kind: 'position', description: 'Balances at this offset or time; see the route coverage.' },
  ],
});

const holdings = rowsRoute({
  name: 'holdings',
  path: '/api/holdings',
  summary: 'Token holdings',
  description: 'Active contracts that are holdings of tokens, with their locks.',
  columns: {
    contract_id: 'text',
    standard: 'text',
    ...account,
    amount: 'number',
    is_locked: 'boolean',
    lock_holders: 'texts',
    lock_expires_at: 'time',
    locked_until: 'time',
    is_locked_now: 'boolean',
    lock_context: 'text',
    meta: 'json',
    created_at_offset: 'integer',
    created_at: 'time',
    template_fqn: 'text',
    synchronizer_id: 'text',
  },
  key: ['created_at_offset', 'contract_id'],
  from: view('token_holdings'),
  parameters: [owner, ...instrument, isTrue('locked', 'Whether the holding has a lock.', 'is_locked')],
});

const holdingEvents = rowsRoute({
  name: 'holding_events',
  path: '/api/holding-events',
  summary: 'Creates and ends of holdings of a party',
  description:
    'One row for every create and every end of a holding of a party, in order. The amount is negative if the holding ended.',
  columns: {
    ...eventColumns,
    contract_id: 'text',
    cause: 'text',
    standard: 'text',
    ...account,
    amount: 'number',
    is_locked: 'boolean',
  },
  key: ['offset', 'node_id', 'contract_id', 'cause'],
  from: ({ party }, statement) => `${statement.explore('token_holding_log')}(${statement.value(party, 'text')})`,
  parameters: [
    { name: 'party', kind: 'party', required: true, description: 'The owner of the holdings.' },
    ...instrument,
    ...rangeOf(),
  ],
});

const movements = rowsRoute({
  name: 'movements',
  path: '/api/movements',
  summary: 'Changes of balances of a party',
  description: 'One row per update, account and instrument: amounts in and out, the other owners, and the reason.',
  columns: {
    offset: 'integer',
    update_id: 'text',
    effective_at: 'time',
    record_time: 'time',
    ...account,
    kind: 'text',
    amount_in: 'number',
    amount_out: 'number',
    net: 'number',
    locked_in: 'number',
    locked_out: 'number',
    holdings_in: 'integer',
    holdings_out: 'integer',
    other_owners: 'texts',
    reason: 'text',
    basis: 'text',
    unreadable_holdings: 'integer',
  },
  key: ['offset', 'owner', 'provider', 'account_id', 'instrument_admin', 'instrument_id'],
  from: ({ party }, statement) => `${statement.explore('token_changes_of')}(${statement.value(party, 'text')})`,
  parameters: [
    { name: 'party', kind: 'party', required: true, description: 'The owner of the accounts.' },
    ...instrument,
    ...rangeOf(),
  ],
});

const transfers = rowsRoute({
  name: 'transfers',
  path: '/api/transfers',
  summary: 'Token transfers',
  description: 'Transfers, mints, burns and unmatched movements, with the source of this knowledge (basis).',
  columns: {
    ...eventColumns,
    kind: 'text',
    basis: 'text',
    sender: 'text',
    sender_provider: 'text',
    sender_account_id: 'text',
    receiver: 'text',
    receiver_provider: 'text',
    receiver_account_id: 'text',
    instrument_admin: 'text',
    instrument_id: 'text',
    amount: 'number',
    transfer_leg_id: 'text',
    reason: 'text',
  },
  key: [
    'offset',
    'node_id',
    'basis',
    'transfer_leg_id',
    'sender',
    'sender_account_id',
    'receiver',
    'receiver_account_id',
    'instrument_admin',
    'instrument_id',
    'amount',
  ],
  optionalKey: ['node_id', 'amount'],
  from: view('token_transfers'),
  parameters: [
    partyIn('party', 'Only transfers that this party sent or received.', { sender: 'text', receiver: 'text' }),
    ...instrument,
    ...rangeOf(),
  ],
});

const accountStatement: ObjectRoute = {
  name: 'account_statement',
  path: '/api/account-statement',
  summary: 'Account statement of a party',
  description:
    'Opening balances, every change with the balance after it, closing balances, and totals, with the hash that the command account-statement prints. Values of Amulet are in US dollars.',
  answers: 'object',
  columns: {},
  fields: {
    version: 'Version of the rows and the hash.',
    participant: 'Id of the participant, or null.',
    from: 'Offset after which the statement begins, and its record time.',
    to: 'Last offset of the statement, and its record time.',
    notes: 'Sentences about facts that the rows do not contain.',
    columns: 'Names of the columns.',
    rows: 'Rows as lists of texts, in the order of the columns.',
    labels: 'Labels of the other owners that have one, by party; the hash does not cover them.',
    totals: 'Opening and closing balance of each account and instrument, and the sums of its changes by kind.',
    sha256: 'Hash of the statement.',
  },
  parameters: [
    { name: 'party', kind: 'party', required: true, description: 'The owner of the accounts.' },
    { name: 'instrument_id', kind: 'text', description: 'Only this instrument.' },
    { name: 'instrument_admin', kind: 'text', description: 'Only instruments of this admin.' },
    { name: 'from', kind: 'position', description: 'Offset or time after which the statement begins.' },
    { name: 'to', kind: 'position', description: 'Last offset or time of the statement.' },
  ],
  read: readStatementIn,
};

export const tokenRoutes = [balances, holdings, holdingEvents, movements, transfers, accountStatement];
