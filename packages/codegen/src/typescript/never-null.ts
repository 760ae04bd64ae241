/**
 * Columns of the views that always have a value. In some cases the catalog of the tables says `not null` and no join
 * can miss; a test checks these with the planner, so all of them are listed here. In other cases the view guarantees a
 * value: because of an [invariant](../../docs/reference/invariants.md), or because the view counts, concatenates or
 * names a case. These invariants are used: each small number is in its dictionary (I25), the start and end of each
 * contract have their row in contracts (I11), and each update has its batch (I40). Columns for values that the ledger
 * may omit, such as the times of an update, can be null. The types say so.
 */

const explore: Readonly<Record<string, string>> = {
  active_contracts:
    'contract_id template_fqn package_name module_name entity_name package_id signatories observers witnesses ' +
    'created_at_offset synchronizer_id',
  activity: 'hour template_fqn package_name module_name entity_name package_id creates archives exercises',
  activity_updates: 'hour transactions paid_traffic_cost creates archives exercises',
  allocations: 'contract_id standard created_at_offset synchronizer_id',
  amulet_burns: 'offset reason amount',
  amulet_transfers: 'offset node_id choice',
  app_activity_markers: 'contract_id is_active created_at_offset',
  command_latency: 'offset succeeded',
  completion_coverage: 'from_offset to_offset status reason',
  completions: 'offset act_as succeeded status_code',
  contracts:
    'contract_id template_fqn package_name module_name entity_name package_id status is_active signatories observers ' +
    'witnesses created_at_offset origin synchronizer_id node_id',
  coverage: 'from_offset to_offset status reason',
  events: 'offset node_id event_type parties',
  exercises:
    'offset node_id contract_id template_fqn module_name entity_name package_id choice acting_parties witnesses consuming',
  featured_app_locks: 'is_featured locked vesting locks required missing required_for_issuer missing_for_issuer',
  featured_apps: 'contract_id is_active created_at_offset',
  filter_coverage: 'kind name from_offset reason',
  instrument_labels: 'instrument_admin instrument_id name source',
  interface_coverage: 'interface_id state updated_at reason',
  interface_views: 'contract_id offset interface_fqn status_code template_fqn is_active',
  mining_rounds: 'status last_offset',
  participants: 'participant_number from_offset offset_shift',
  parties: 'party signatory_of observer_of witness_of exercised first_offset last_offset',
  party_labels: 'party label kind labels',
  pending_transfer_instructions:
    'contract_id standard sender_account_id receiver_account_id created_at_offset synchronizer_id',
  reassignments: 'offset node_id kind contract_id template_fqn reassignment_id source target witnesses incomplete',
  rejected_commands: 'offset act_as status_code',
  reward_coupons: 'contract_id kind status created_at_offset',
  reward_rounds: 'reward_kind is_dry_run status batches batches_left last_offset',
  rewards: 'kind coupons collected expired active',
  templates: 'template_fqn package_name module_name entity_name package_id kind active activated unhosted',
  token_balances: 'account_id total locked unlocked available holdings',
  token_balances_by_reason: 'account_id reason amount available holdings',
  token_changes:
    'offset account_id kind amount_in amount_out net locked_in locked_out holdings_in holdings_out basis moved explained unreadable_holdings',
  token_discrepancies: 'offset account_id logged moved',
  token_events: 'offset node_id account_id is_by_admin',
  token_holding_events: 'offset contract_id cause standard account_id amount is_locked',
  token_holdings:
    'contract_id standard account_id amount is_locked is_locked_now created_at_offset template_fqn synchronizer_id',
  token_holdings_unreadable: 'contract_id template_fqn reason signatories observers is_active created_at_offset',
  token_legs: 'offset basis kind',
  token_transfer_steps: 'offset node_id choice standard sender_account_id receiver_account_id acting_parties',
  token_locks:
    'contract_id account_id amount reason basis is_locked_now created_at_offset template_fqn synchronizer_id',
  token_movements: 'offset kind basis movements',
  token_transfers: 'offset kind basis',
  token_vesting_schedule: 'lock_contract_id account_id from_day to_day freed_total',
  traffic_cost_outliers: 'offset bytes usual_updates usual_p50 usual_p95 bytes_beyond',
  traffic_cost_percentiles: 'updates bytes p50 p75 p95 max',
  traffic_costs: 'offset bytes',
  traffic_purchases: 'offset purchases',
  traffic_runway: 'at synchronizer_id rate_over bytes_bought_by_choice bytes_bought_by_transfer',
  unclaimed_rewards: 'contract_id is_active created_at_offset',
  updates: 'offset kind event_count indexed_at participant_number participant_offset',
  validator_heartbeats: 'offset node_id choice contract_id consuming',
  validators: 'status contract_id package_version licenses created_at_offset',
  wasted_traffic: 'commands',
};

const pqs: Readonly<Record<string, string>> = { transactions: 'ix offset indexed_at' };

/**
 * Columns in front of those of the fields, by kind of typed view. The code handles `archived_…` and the contract key.
 */
const typedColumns = {
  template: 'contract_id created_at_offset node_id signatories observers synchronizer_id package_id status is_active',
  choice: 'contract_id exercised_at_offset node_id acting_parties consuming template package_id',
  interface: 'contract_id created_at_offset template signatories observers package_id package_version',
} as const;

/** Columns that are null only after a redaction, so never null if nothing was redacted. */
const contents = new Set([
  'explore.active_contracts.payload',
  'explore.contracts.payload',
  'explore.exercises.argument',
  'explore.exercises.result',
  'template.payload',
  'choice.argument',
  'choice.result',
]);

const columnNames = new Map(
  [...Object.entries({ explore, pqs }), ['', typedColumns] as const].flatMap(([schema, views]) =>
    Object.entries<string>(views).map(([view, names]) => {
      const key = schema === '' ? view : `${schema}.${view}`;
      return [key, new Set(names.split(' '))] as const;
    }),
  ),
);

/**
 * Key of the relation of a column: a view of explore, pqs or derived, such as `explore.contracts`; or `template`,
 * `choice` or `interface` for schema typed.
 */
export type ViewKey = string;

/**
 * Whether a column that was not created from a field can be null. A projection that a user added always has the offset,
 * which selects its rows.
 * @param redacted whether contents may have been redacted
 */
export function canBeNull(view: ViewKey, column: string, redacted: boolean): boolean {
  if (view.startsWith('derived.')) return column !== 'offset';
  if (contents.has(`${view}.${column}`)) return redacted;
  return columnNames.get(view)?.has(column) !== true;
}

/** All never-null columns of schemas explore and pqs, as `explore.view.column`. For tests. */
export function neverNullColumns(): readonly string[] {
  return [...columnNames].flatMap(([view, names]) =>
    view.includes('.') ? [...names].map((name) => `${view}.${name}`) : [],
  );
}
