/**
 * What a role that is limited to parties may see, as row-level security. The measure is the ledger's own privacy: the
 * contracts its parties are stakeholders of, and the events that name its parties as witnesses or controllers. Pure SQL text.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';

/** Tables without anything of a single party: names of templates, packages, synchronizers. */
const open = [
  'synchronizers',
  'templates',
  'choices',
  'template_interfaces',
  'packages',
  'paddings',
  'typed_views',
  'typed_columns',
  'coverage',
  'filter_interfaces',
  'hosts',
  // How the writer went about it: offsets, epochs, hours.
  'batches',
  'schema_migrations',
];

/** Of the stream everything but the filter, which names the parties it indexes. */
const streamColumns =
  'singleton, participant_id, transaction_shape, seed_offset, seeded_at, seed_contracts, seed_release, seed_has_in_flight, checkpoint, ' +
  'checkpoint_update_offset, checkpoint_update_id, checkpoint_record_time, record_times, epoch, writer, ' +
  'ledger_end, pruned_offset, kept_offset, handover, handover_peer';
/** As of the stream: not whose completions they are. */
const rangeColumns = 'from_offset, to_offset, reason, recorded_at';

/** Permissive, for everybody else: switching row-level security on must not hide a row from other readers. */
const everybody = 'all readers';

/** The condition on the rows of each table. */
function conditions(parties: readonly string[]): Readonly<Record<string, string>> {
  const mine = `array[${parties.map((party) => escapeLiteral(party)).join(', ')}]::text[]`;
  const stakes = `signatories && ${mine} or observers && ${mine}`;
  const witnessed = `witness_parties && ${mine}`;
  // Not every stakeholder of a contract learns of every choice on it: an observer does not see non-consuming ones.
  const takesPart = `acting_parties && ${mine} or ${witnessed}`;
  // Few combinations beside many rows: they are looked up once for all rows of a statement.
  const among = (table: string, condition: string): string =>
    `parties_pk in (select p.parties_pk from ${table} p where ${condition})`;
  const ofUpdate = ['exercises', 'archives', 'reassignments', 'topology_events', 'contracts'].map(
    (table) => `exists (select from ${table} e where e."offset" = updates."offset")`,
  );
  return {
    contract_parties: stakes,
    event_parties: takesPart,
    contracts: among('contract_parties', stakes),
    live: among('contract_parties', stakes),
    ended: among('contract_parties', stakes),
    interface_views: `exists (select from contracts c
      where c."offset" = interface_views."offset" and c.node_id = interface_views.node_id)`,
    exercises: among('event_parties', takesPart),
    archives: among('event_parties', witnessed),
    reassignments: among('event_parties', witnessed),
    topology_events: `party_id = any (${mine})`,
    updates: ofUpdate.join(' or '),
    // As the ledger shows completions: of the acting parties a reader learns only its own.
    submitters: `party = any (${mine})`,
    completions: `submitters_key in (select s.submitters_key from submitters s where s.party = any (${mine}))`,
    // Sums over the contracts of all parties.
    active_counts: 'false',
    activity_hourly: 'false',
    // Whole updates, and ids and parties of contracts whose contents somebody wanted gone.
    quarantine: 'false',
    redactions: 'false',
    redacted_contracts: 'false',
    redacted_exercises: 'false',
    // Who else reads here.
    retention_holds: 'false',
    webhooks: 'false',
    webhook_dead: 'false',
    works: 'false',
    // Which parties it indexes.
    filter_parts: 'false',
    // Counts over the contracts of all parties.
    verifications: 'false',
  };
}

/** For each table the statements of one transaction, to be run with the storage as search path. */
export function policyStatements(role: string, parties: readonly string[]): readonly (readonly string[])[] {
  const name = escapeIdentifier(role);
  const all = escapeIdentifier(everybody);
  return Object.entries(conditions(parties)).map(([table, condition]) => [
    `drop policy if exists ${all} on ${table}`,
    `create policy ${all} on ${table} using (true) with check (true)`,
    `drop policy if exists ${name} on ${table}`,
    `create policy ${name} on ${table} as restrictive for select to ${name} using (${condition})`,
    `alter table ${table} enable row level security`,
  ]);
}

/** Grants on the tables that have a policy or need none; of what later versions add, `openGrants` are made by their migration. */
export function limitedGrants(role: string): readonly string[] {
  const tables = Object.keys(conditions([])).join(', ');
  // Nobody has a policy on the secrets of webhooks and on tokens: all their rows are hidden.
  return [
    `grant select on ${tables}, webhook_secrets, reader_tokens to ${escapeIdentifier(role)}`,
    ...openGrants(role),
  ];
}

/** Grants on what holds nothing of a single party: without them, views and functions of a later version fail for the role. */
export function openGrants(role: string): readonly string[] {
  const name = escapeIdentifier(role);
  return [
    `grant select on ${open.join(', ')} to ${name}`,
    `grant select (${streamColumns}) on stream to ${name}`,
    `grant select (${rangeColumns}) on completion_ranges to ${name}`,
  ];
}
