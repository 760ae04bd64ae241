/** The rows of `explain`, as Postgres prints them in JSON. */

export interface Summary {
  readonly offset: number;
  readonly kind: string;
  readonly update_id: string | null;
  readonly previous_offset: number | null;
  readonly next_offset: number | null;
  readonly effective_at: string | null;
  readonly record_time: string | null;
  readonly indexed_at: string | null;
  readonly synchronizer_id: string | null;
  readonly command_id: string | null;
  readonly workflow_id: string | null;
  readonly user_id: string | null;
  readonly act_as: readonly string[] | null;
  readonly acting_parties: readonly string[] | null;
  readonly event_count: number;
  readonly paid_traffic_cost: number | null;
  readonly trace_id: string | null;
}

export interface ChangedField {
  readonly field: readonly string[];
  readonly before: unknown;
  readonly after: unknown;
}

export interface TreeRow {
  readonly node_id: number;
  readonly depth: number;
  readonly event_type: string;
  readonly template_fqn: string | null;
  readonly package_version: string | null;
  readonly choice: string | null;
  readonly contract_id: string | null;
  readonly acting_parties: readonly string[] | null;
  readonly reason: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly changed: readonly ChangedField[] | null;
  readonly other_contract_id: string | null;
  readonly redaction_id: string | null;
}

export interface Transfer {
  readonly kind: string;
  readonly sender: string | null;
  readonly receiver: string | null;
  readonly amount: string;
  readonly instrument_id: string;
  readonly reason: string | null;
}

export interface Change {
  readonly owner: string | null;
  readonly kind: string;
  readonly net: string;
  readonly instrument_id: string;
  readonly amount_in: string;
  readonly amount_out: string;
}

export interface ContractLifeRow {
  readonly offset: number;
  readonly event_type: string;
  readonly effective_at: string | null;
  readonly record_time: string | null;
  readonly template_fqn: string | null;
  readonly package_version: string | null;
  readonly choice: string | null;
  readonly interface_fqn: string | null;
  readonly acting_parties: readonly string[] | null;
  readonly synchronizer_id: string | null;
  readonly target: string | null;
  readonly other_contract_id: string | null;
  readonly contents: unknown;
  readonly reason: string | null;
  readonly redaction_id: string | null;
}

export interface CommandOutcome {
  readonly offset: number;
  readonly succeeded: boolean;
  readonly update_id: string | null;
  readonly record_time: string | null;
  readonly submission_id: string | null;
  readonly user_id: string | null;
  readonly act_as: readonly string[] | null;
  readonly error_code: string | null;
  readonly error_category: number | null;
  readonly status_code: number;
  readonly reason: string | null;
  readonly is_retryable: boolean | null;
  readonly contract_id: string | null;
  readonly template_fqn: string | null;
  readonly choice: string | null;
  readonly accepted_offset: number | null;
  readonly deduplication_offset: number | null;
  readonly deduplication_period: string | null;
  readonly paid_traffic_cost: number | null;
  readonly trace_id: string | null;
  readonly redaction_id: string | null;
}
