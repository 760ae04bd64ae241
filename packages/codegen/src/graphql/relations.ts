/**
 * Keys and relations of the views for readers. Views have no constraints, so the catalog does not contain them.
 * Everything that is generated for other programs (smart tags, metadata) is derived from this table. It lists only keys
 * that the storage keeps unique, because a relation to any other key would duplicate rows in results. Typed views
 * differ between ledgers, so their relations are defined by kind.
 */
import type { DerivedShape, ViewKind } from 'ledger-indexer/codegen';

/** A relation to another view. Its columns are compared, in order, with the columns of a key of the other view. */
export interface ViewRelation {
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
  readonly relations: readonly ViewRelation[];
}

const seeded = 'contracts that were active when history begins were created by updates that are not stored';
const rejectedNote = 'rejected commands have no update';

const positionColumns = ['offset', 'node_id'];
const activation = ['contract_id', 'created_at_offset'];

/** Relation to the update of the row. */
function updateRelation(reverseField?: string, missingReason?: string): ViewRelation {
  return toUpdate('offset', 'update', reverseField, missingReason);
}

function toUpdate(column: string, field: string, reverseField?: string, missingReason?: string): ViewRelation {
  return {
    columns: [column],
    to: 'updates',
    toColumns: ['offset'],
    field,
    ...(reverseField === undefined ? {} : { back: reverseField }),
    ...(missingReason === undefined ? {} : { mayMiss: missingReason }),
  };
}

function exerciseRelation(reverseField?: string, columns: readonly string[] = positionColumns): ViewRelation {
  return {
    columns,
    to: 'exercises',
    toColumns: positionColumns,
    field: 'exercise',
    ...(reverseField === undefined ? {} : { back: reverseField }),
  };
}

function contractRelation(reverseField?: string, columns: readonly string[] = activation): ViewRelation {
  return {
    columns,
    to: 'contracts',
    toColumns: activation,
    field: 'contract',
    ...(reverseField === undefined ? {} : { back: reverseField }),
  };
}

function templateRelation(reverseField?: string): ViewRelation {
  const columns = ['package_id', 'module_name', 'entity_name'];
  return {
    columns,
    to: 'templates',
    toColumns: columns,
    field: 'template',
    ...(reverseField === undefined ? {} : { back: reverseField }),
  };
}

/** A view about one contract, which it refers to by its activation. */
const singleContractEntity: Entity = { keys: [['contract_id']], relations: [contractRelation()] };

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
      templateRelation('contracts'),
    ],
  },
  active_contracts: {
    keys: [['created_at_offset', 'contract_id']],
    relations: [
      contractRelation(),
      toUpdate('created_at_offset', 'createdUpdate', undefined, seeded),
      templateRelation('activeContracts'),
    ],
  },
  exercises: {
    keys: [positionColumns],
    relations: [
      updateRelation('exercises'),
      contractRelation('exercises', ['contract_id', 'contract_created_at_offset']),
      templateRelation('exercises'),
    ],
  },
  events: { keys: [], relations: [updateRelation('events')] },
  interface_views: { keys: [], relations: [contractRelation('interfaceViews', ['contract_id', 'offset'])] },
  reassignments: { keys: [['offset', 'contract_id', 'kind']], relations: [updateRelation('reassignments')] },
  completions: { keys: [['offset']], relations: [updateRelation('completion', rejectedNote)] },
  rejected_commands: {
    keys: [['offset']],
    relations: [
      { columns: ['offset'], to: 'completions', toColumns: ['offset'], field: 'completion', back: 'rejection' },
    ],
  },
  token_holdings: { keys: [['created_at_offset', 'contract_id']], relations: [contractRelation('tokenHolding')] },
  token_holding_events: { keys: [], relations: [updateRelation(undefined, seeded)] },
  token_events: {
    keys: [],
    relations: [exerciseRelation('tokenEvents'), updateRelation('tokenEvents')],
  },
  token_transfer_steps: {
    keys: [positionColumns],
    relations: [exerciseRelation('tokenTransferStep'), updateRelation('tokenTransferSteps')],
  },
  token_changes: { keys: [], relations: [updateRelation('tokenChanges', seeded)] },
  token_transfers: { keys: [], relations: [updateRelation('tokenTransfers')] },
  pending_transfer_instructions: {
    keys: [['created_at_offset', 'contract_id']],
    relations: [contractRelation('pendingTransferInstruction')],
  },
  allocations: { keys: [], relations: [contractRelation('allocations')] },
  token_locks: { keys: [['created_at_offset', 'contract_id']], relations: [contractRelation('tokenLock')] },
  traffic_purchases: { keys: [], relations: [updateRelation()] },
  traffic_costs: { keys: [['offset']], relations: [updateRelation('trafficCost')] },
  amulet_transfers: {
    keys: [positionColumns],
    relations: [exerciseRelation('amuletTransfer'), updateRelation('amuletTransfers')],
  },
  amulet_burns: { keys: [], relations: [updateRelation()] },
  mining_rounds: { keys: [['dso', 'round']], relations: [] },
  reward_rounds: { keys: [['dso', 'round', 'reward_kind', 'is_dry_run']], relations: [] },
  validators: { keys: [['dso', 'validator']], relations: [contractRelation()] },
  validator_heartbeats: {
    keys: [positionColumns],
    relations: [
      exerciseRelation('validatorHeartbeat'),
      updateRelation(),
      {
        columns: ['dso', 'validator'],
        to: 'validators',
        toColumns: ['dso', 'validator'],
        field: 'ofValidator',
        back: 'heartbeats',
      },
    ],
  },
  reward_coupons: singleContractEntity,
  featured_apps: singleContractEntity,
  app_activity_markers: singleContractEntity,
  unclaimed_rewards: singleContractEntity,
};

/** Keys and relations of typed views by kind. A template has one view of active contracts and one of all contracts. */
export const typedEntities: Readonly<Record<ViewKind | 'history', Entity>> = {
  template: {
    keys: [['created_at_offset', 'contract_id']],
    relations: [contractRelation(), toUpdate('created_at_offset', 'createdUpdate', undefined, seeded)],
  },
  history: {
    keys: [['created_at_offset', 'node_id']],
    relations: [
      contractRelation(),
      toUpdate('created_at_offset', 'createdUpdate', undefined, seeded),
      toUpdate('archived_at_offset', 'archivedUpdate'),
    ],
  },
  choice: {
    keys: [['exercised_at_offset', 'node_id']],
    relations: [
      exerciseRelation(undefined, ['exercised_at_offset', 'node_id']),
      toUpdate('exercised_at_offset', 'update'),
    ],
  },
  interface: {
    keys: [['created_at_offset', 'contract_id', 'package_id']],
    relations: [contractRelation(), toUpdate('created_at_offset', 'createdUpdate', undefined, seeded)],
  },
};

/** Relations of a projection that a user added, if it has their columns. */
const possibleRelations: readonly ViewRelation[] = [
  updateRelation(undefined, seeded),
  { ...exerciseRelation(), mayMiss: 'a node may be a create' },
  contractRelation(),
  contractRelation(undefined, ['contract_id', 'contract_created_at_offset']),
  templateRelation(),
];

/** Types of their columns. A relation needs the same types on both sides. */
const relationTypes: Readonly<Record<string, string>> = {
  offset: 'bigint',
  created_at_offset: 'bigint',
  contract_created_at_offset: 'bigint',
  node_id: 'integer',
};

/**
 * Relations of a projection that a user added. No relation leads back, because a view that is being stored computes all
 * of its rows for each question. A column with the name of a relation replaces it.
 * @param columns types by name
 */
export function derivedRelations(columns: ReadonlyMap<string, string>): readonly ViewRelation[] {
  const relations = possibleRelations.filter(
    (relation) =>
      !columns.has(relation.field) &&
      relation.columns.every((name) => columns.get(name) === (relationTypes[name] ?? 'text')),
  );
  return relations.filter(({ field }, index) => relations.findIndex((other) => other.field === field) === index);
}

/** Keys and relations of a projection that a user added. It has a key only if all its versions have the same one. */
export function derivedEntity({ columns, keys }: DerivedShape): Entity {
  const [key = []] = keys.length === 1 ? keys : [];
  return {
    keys: key.length === 0 ? [] : [key],
    relations: derivedRelations(new Map(columns.map(({ name, type }) => [name, type]))),
  };
}

/**
 * Functions of schema explore that readers call. All other functions of the schema are used only by these functions and
 * by the views. `wait_for_offset` is for reading your own writes: it waits until they are stored.
 */
export const exploreFunctions: readonly string[] = [
  'account_statement',
  'active',
  'active_at',
  'active_by_key',
  'diff',
  'diff_contracts',
  'explain_command',
  'explain_contract',
  'explain_summary',
  'explain_update',
  'featured_app_locks_at',
  'known_offset',
  'latest_offset',
  'nearest_offset',
  'token_balances_at',
  'token_balances_by_reason_at',
  'token_changes_of',
  'token_holding_log',
  'token_holdings_at',
  'token_journal',
  'token_journal_notes',
  'token_locks_at',
  'wait_for_offset',
];
