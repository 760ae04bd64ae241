/**
 * Keys and relations of the views for readers. Views have no constraints, so the catalog contains none of this;
 * everything generated for programs that need it (smart tags, metadata) is derived from this table. It only lists keys
 * that the storage keeps unique: a key that is not unique would duplicate rows in results. Typed views differ between
 * ledgers, and have the relations of their kind.
 */
import type { ViewKind } from '../typed/subjects.ts';

/** Names are column names; a relation compares columns in order with those of a key of the other view. */
export interface Relation {
  readonly columns: readonly string[];
  /** A view of schema explore. */
  readonly to: string;
  /** Columns of the other view; one of its keys. */
  readonly toColumns: readonly string[];
  /** Name of the relation to the one row of the other view. */
  readonly field: string;
  /**
   * Name of the reverse relation to the rows of this view; undefined if it is not useful or the result would read all
   * history.
   */
  readonly back?: string;
  /** Why the other row may be missing while the columns have values; undefined if it never is. */
  readonly mayMiss?: string;
}

export interface Entity {
  /** The first is the primary key, and an order of the rows that begins with the leading column of an index. */
  readonly keys: readonly (readonly string[])[];
  readonly relations: readonly Relation[];
}

const seeded = 'contracts that were active when history begins were created by updates that are not stored';
const rejected = 'rejected commands have no update';

const positionColumns = ['offset', 'node_id'];
const activation = ['contract_id', 'created_at_offset'];

/** Relation to the update of the row. */
function ofUpdate(back?: string, mayMiss?: string): Relation {
  return toUpdate('offset', 'update', back, mayMiss);
}

function toUpdate(column: string, field: string, back?: string, mayMiss?: string): Relation {
  return {
    columns: [column],
    to: 'updates',
    toColumns: ['offset'],
    field,
    ...(back === undefined ? {} : { back }),
    ...(mayMiss === undefined ? {} : { mayMiss }),
  };
}

function ofExercise(back?: string, columns: readonly string[] = positionColumns): Relation {
  return {
    columns,
    to: 'exercises',
    toColumns: positionColumns,
    field: 'exercise',
    ...(back === undefined ? {} : { back }),
  };
}

function ofContract(back?: string, columns: readonly string[] = activation): Relation {
  return {
    columns,
    to: 'contracts',
    toColumns: activation,
    field: 'contract',
    ...(back === undefined ? {} : { back }),
  };
}

function ofTemplate(back?: string): Relation {
  const columns = ['package_id', 'module_name', 'entity_name'];
  return { columns, to: 'templates', toColumns: columns, field: 'template', ...(back === undefined ? {} : { back }) };
}

/** For views of one contract: the contract by its activation. */
const ofOneContract: Entity = { keys: [['contract_id']], relations: [ofContract()] };

/** By view name in schema explore. A view that is not listed has neither keys nor relations. */
export const exploreEntities: Readonly<Record<string, Entity>> = {
  updates: { keys: [['offset']], relations: [] },
  templates: { keys: [['package_id', 'module_name', 'entity_name']], relations: [] },
  participants: { keys: [['participant_number']], relations: [] },
  contracts: {
    keys: [['created_at_offset', 'node_id'], activation],
    relations: [
      toUpdate('created_at_offset', 'createdUpdate', 'createdContracts', seeded),
      toUpdate('archived_at_offset', 'archivedUpdate', 'archivedContracts'),
      ofTemplate('contracts'),
    ],
  },
  active_contracts: {
    keys: [['created_at_offset', 'contract_id']],
    relations: [
      ofContract(),
      toUpdate('created_at_offset', 'createdUpdate', undefined, seeded),
      ofTemplate('activeContracts'),
    ],
  },
  exercises: {
    keys: [positionColumns],
    relations: [
      ofUpdate('exercises'),
      ofContract('exercises', ['contract_id', 'contract_created_at_offset']),
      ofTemplate('exercises'),
    ],
  },
  events: { keys: [], relations: [ofUpdate('events')] },
  interface_views: { keys: [], relations: [ofContract('interfaceViews', ['contract_id', 'offset'])] },
  reassignments: { keys: [['offset', 'contract_id', 'kind']], relations: [ofUpdate('reassignments')] },
  completions: { keys: [['offset']], relations: [ofUpdate('completion', rejected)] },
  rejected_commands: {
    keys: [['offset']],
    relations: [
      { columns: ['offset'], to: 'completions', toColumns: ['offset'], field: 'completion', back: 'rejection' },
    ],
  },
  token_holdings: { keys: [['created_at_offset', 'contract_id']], relations: [ofContract('tokenHolding')] },
  token_holding_events: { keys: [], relations: [ofUpdate(undefined, seeded)] },
  token_events: {
    keys: [],
    relations: [ofExercise('tokenEvents'), ofUpdate('tokenEvents')],
  },
  token_transfer_steps: {
    keys: [positionColumns],
    relations: [ofExercise('tokenTransferStep'), ofUpdate('tokenTransferSteps')],
  },
  token_changes: { keys: [], relations: [ofUpdate('tokenChanges', seeded)] },
  token_transfers: { keys: [], relations: [ofUpdate('tokenTransfers')] },
  pending_transfer_instructions: {
    keys: [['created_at_offset', 'contract_id']],
    relations: [ofContract('pendingTransferInstruction')],
  },
  allocations: { keys: [], relations: [ofContract('allocations')] },
  traffic_purchases: { keys: [], relations: [ofUpdate()] },
  traffic_costs: { keys: [['offset']], relations: [ofUpdate('trafficCost')] },
  amulet_transfers: { keys: [positionColumns], relations: [ofExercise('amuletTransfer'), ofUpdate('amuletTransfers')] },
  amulet_burns: { keys: [], relations: [ofUpdate()] },
  mining_rounds: { keys: [['dso', 'round']], relations: [] },
  reward_rounds: { keys: [['dso', 'round', 'reward_kind', 'is_dry_run']], relations: [] },
  validators: { keys: [['dso', 'validator']], relations: [ofContract()] },
  validator_heartbeats: {
    keys: [positionColumns],
    relations: [
      ofExercise('validatorHeartbeat'),
      ofUpdate(),
      {
        columns: ['dso', 'validator'],
        to: 'validators',
        toColumns: ['dso', 'validator'],
        field: 'ofValidator',
        back: 'heartbeats',
      },
    ],
  },
  reward_coupons: ofOneContract,
  featured_apps: ofOneContract,
  app_activity_markers: ofOneContract,
  unclaimed_rewards: ofOneContract,
};

/** Typed views by kind; a template has one for active contracts and one for all contracts. */
export const typedEntities: Readonly<Record<ViewKind | 'history', Entity>> = {
  template: {
    keys: [['created_at_offset', 'contract_id']],
    relations: [ofContract(), toUpdate('created_at_offset', 'createdUpdate', undefined, seeded)],
  },
  history: {
    keys: [['created_at_offset', 'node_id']],
    relations: [
      ofContract(),
      toUpdate('created_at_offset', 'createdUpdate', undefined, seeded),
      toUpdate('archived_at_offset', 'archivedUpdate'),
    ],
  },
  choice: {
    keys: [['exercised_at_offset', 'node_id']],
    relations: [ofExercise(undefined, ['exercised_at_offset', 'node_id']), toUpdate('exercised_at_offset', 'update')],
  },
  interface: {
    keys: [['created_at_offset', 'contract_id', 'package_id']],
    relations: [ofContract(), toUpdate('created_at_offset', 'createdUpdate', undefined, seeded)],
  },
};

/**
 * Functions that readers call, in schema explore. All others there are parts of these and of the views.
 * `wait_for_offset` waits, so that later reads include the caller's own write.
 */
export const exploreFunctions: readonly string[] = [
  'active',
  'active_at',
  'active_by_key',
  'diff',
  'diff_contracts',
  'explain_command',
  'explain_contract',
  'explain_summary',
  'explain_update',
  'known_offset',
  'latest_offset',
  'nearest_offset',
  'token_balances_at',
  'token_changes_of',
  'token_holding_log',
  'token_holdings_at',
  'token_journal',
  'token_journal_notes',
  'wait_for_offset',
];
