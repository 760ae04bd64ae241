/**
 * Keys and relations of the views for readers. Views have no constraints, so the catalog does not contain them.
 * Everything that is generated for other programs (smart tags, metadata) is derived from this table. It lists only keys
 * that the storage keeps unique, because a relation to any other key would duplicate rows in results. Typed views
 * differ between ledgers, so their relations are defined by kind.
 */
import type { ViewKind } from '../typed/subjects.ts';

/** A relation to another view. Its columns are compared, in order, with the columns of a key of the other view. */
export interface Relation {
  readonly columns: readonly string[];
  /** Name of a view in schema explore. */
  readonly to: string;
  /** Columns of the other view, which are one of its keys. */
  readonly toColumns: readonly string[];
  /** Name of the relation to the row of the other view. */
  readonly field: string;
  /**
   * Name of the reverse relation to the rows of this view. It is undefined if the relation would not be useful or would
   * read all history.
   */
  readonly back?: string;
  /** Why the other row may be missing although the columns have values; undefined if it never is. */
  readonly mayMiss?: string;
}

export interface Entity {
  /** The first key is the primary key. Its order begins with the leading column of an index. */
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

/** A view about one contract, which it refers to by its activation. */
const ofOneContract: Entity = { keys: [['contract_id']], relations: [ofContract()] };

/** Keys and relations by view name in schema explore. A view that is not listed has neither. */
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

/** Keys and relations of typed views by kind. A template has one view of active contracts and one of all contracts. */
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
 * Functions of schema explore that readers call. All other functions of the schema are used only by these functions and
 * by the views. `wait_for_offset` is for reading your own writes: it waits until they are stored.
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
