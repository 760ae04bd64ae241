/** Model of one stream: its identity, its stored state, its phase, its background jobs, and its writer. Pure. */

/** Identity of a stream. Another participant, filter or shape means another history. */
export interface StreamIdentity {
  /** Undefined if this user may not read it; it is not compared then. */
  readonly participantId: string | undefined;
  /** Canonical JSON of the filter; the next field is its SHA-256. */
  readonly filter: string;
  readonly filterHash: string;
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
}

/** A stored update, which distinguishes the ledger's history from another one. */
export interface UpdateMark {
  readonly offset: number;
  readonly updateId: string;
}

/** A stored active contract, which distinguishes histories if no update can be compared. */
export interface ContractMark {
  readonly contractId: string;
  /** Offset of the create. */
  readonly offset: number;
}

/** Source of a list of active contracts. */
export interface ListSource {
  /** Version of the participant; null if it could not be read, or no list was read. */
  readonly release: string | null;
  /** Whether the list contains reassignments in flight, as far as known. */
  readonly hasInFlight: boolean;
}

/** Stored state of the stream when a session begins. */
export interface StreamState {
  readonly epoch: number;
  /** Null if no session could read it so far. */
  readonly participantId: string | null;
  readonly seedOffset: number | null;
  readonly seeded: boolean;
  readonly seedToken: string | null;
  readonly seedContracts: number;
  /**
   * Version of the participant that returned the list, and whether the list contains reassignments in flight; null if
   * not recorded.
   */
  readonly seedRelease: string | null;
  readonly seedHasInFlight: boolean | null;
  readonly checkpoint: number | null;
  /** Its offset is an offset of the stream, even if the update was stored while another participant was read. */
  readonly lastUpdate: UpdateMark | undefined;
  /**
   * Parts that the configured filter has and the filter of a previous start, which stored nothing, lacked. Absent if
   * the filter is the stored one.
   */
  readonly filterReplaced?: string;
  /** Undefined if the stream never switched participants, so that the participant's offsets are those of the stream. */
  readonly participantRange?: ParticipantRange | undefined;
}

/**
 * The range that is read from the participant that a stream was switched to. The participant's offsets and those of the
 * stream differ by `shift`.
 */
export interface ParticipantRange {
  /** Number of the participant: 1 is the one that the stream began with. */
  readonly number: number;
  /** Offset of the stream (exclusive). Updates up to it came from other participants, under their offsets. */
  readonly from: number;
  /** Offset of the stream minus the participant's own offset. */
  readonly shift: number;
  /**
   * By synchronizer: offset of the stream up to which its updates are stored already, although they come after `from`.
   * Participants order the updates of two synchronizers differently.
   */
  readonly overlaps: Readonly<Record<string, number>>;
  /**
   * The newest update up to `from` that both participants had, with its position on this participant, as an offset of
   * the stream.
   */
  readonly common: UpdateMark;
}

/** An interface whose views are requested. */
export interface RequestedInterface {
  /** `#package-name:Module:Entity`. */
  readonly id: string;
  /**
   * `followed`: the stream includes its views. `backfilling`: the participant knows it, and views are staged in the
   * background. `waiting`: the participant does not know it, or was not queried yet.
   */
  readonly state: 'waiting' | 'backfilling' | 'followed';
  /**
   * Contracts that were active at this offset, or were created after it, have the views that the participant could
   * return. 0 if that holds for all contracts of the stream; null if no views are stored yet.
   */
  readonly completeFrom: number | null;
  /**
   * The ledger end when the participant last reported that it does not know the interface; null if it never reported
   * that.
   */
  readonly unknownAt: number | null;
}

/**
 * Beginning of a stream: the active contracts, or an empty state at the genesis, at the oldest offset available, or at
 * a configured offset.
 */
export type SeedOrigin = 'seed' | 'genesis' | 'oldest' | 'offset';

/** An update to be quarantined. */
export interface QuarantinedUpdate {
  readonly offset: number;
  /** Error code. */
  readonly code: string;
  /** Description of the failure, without contents. */
  readonly problem: string;
  /** The frame as the ledger sent it. */
  readonly frame: Buffer;
}

/** Comparison of the dictionary of templates with the stored packages. */
export interface PackageState {
  /**
   * Ids of packages that templates, interfaces or choices name and that were not read, in order of first appearance.
   */
  readonly missing: readonly string[];
  /** Names of packages that were read and that the dictionary names, sorted. Their templates get a view. */
  readonly named: readonly string[];
  /** Number of templates and interfaces in the dictionary. */
  readonly templates: number;
}

/** Result of merging newly read active contracts with the stored ones. */
export interface MergeResult {
  /** Number of contracts that were active here and ended in the gap. */
  readonly ended: number;
  /** Number of contracts that are active on the ledger and were not active here. */
  readonly added: number;
  /** Number of contracts that were active before and after the gap. */
  readonly kept: number;
}

/** Current activity of the indexer; it is in exactly one phase at any time. Exported as metric `indexer_phase`. */
export const phases = [
  'starting',
  'seeding',
  'catching_up',
  'live',
  'backing_off',
  'parked',
  'standby',
  'stopping',
] as const;
export type Phase = (typeof phases)[number];

/**
 * The session that holds the writer lock. Postgres returns the last two fields only to the session's own role and to
 * members of pg_monitor.
 */
export interface LockHolder {
  readonly pid: number;
  readonly role: string | null;
  /** `application_name` of the session. */
  readonly application: string | null;
  /** Null for a local socket, or if it is not visible. */
  readonly address: string | null;
  /** Start of its session; null if it is not visible. */
  readonly since: string | null;
}

/** The holder as text, for messages. */
export function holderText({ pid, role, application, address, since }: LockHolder): string {
  const from = since === null ? '' : `, from ${address ?? 'a local socket'}, since ${since}`;
  return `session ${String(pid)} of role "${role ?? 'not known'}", application "${application ?? ''}"${from}`;
}

/** Start offset and parties for reading completions. */
export interface CompletionStart {
  /** Offset (exclusive) at which the stream's own history begins; used if no completions were read yet. */
  readonly begin: number;
  /** Empty for all parties. */
  readonly parties: readonly string[];
}

/** Completions that cannot be read any more. */
export interface CompletionGap {
  /** Offset (exclusive) at which the gap begins: the checkpoint of the completions. */
  readonly from: number;
  /** Offset (exclusive) from which completions can be read. */
  readonly to: number;
  readonly reason: string;
}

// Background jobs that an operator requests: rows of table `jobs`.

/** The built-in projections. A projection may read the rows of those before it. */
export const projectionNames = [
  'token_holding_events',
  'token_transfer_steps',
  'token_changes',
  'token_transfers',
  'token_discrepancies',
  'traffic_purchases',
  'amulet_transfers',
  'ended_reward_coupons',
  'traffic_costs',
  'token_balance_changes',
  'token_movements',
  'contract_lifetimes',
  'party_activity',
] as const;
export type ProjectionName = (typeof projectionNames)[number];

/** Name of the table with the rows of a projection. */
export function projectedTable<N extends ProjectionName>(name: N): `projected_${N}` {
  return `projected_${name}`;
}

export const jobNames = ['filter-extend', 'history', 'rebuild'] as const;
export type JobName = (typeof jobNames)[number];
export type JobState = 'requested' | 'working' | 'paused' | 'done' | 'failed';

export interface JobProgress {
  /** Name of the current step. */
  readonly step: string | null;
  readonly unit: 'contracts' | 'offsets' | null;
  /** Completed amount of the step; the next field is the total amount, null if unknown. */
  readonly done: number;
  readonly total: number | null;
  /** Null while the job is not running. */
  readonly perSecond: number | null;
  /** Reason for the failure, or for the last retry. */
  readonly problem: string | null;
}

export interface Job extends JobProgress {
  readonly name: JobName;
  readonly state: JobState;
  /** Request of the job; its fields depend on the name of the job. */
  readonly request: unknown;
  readonly requestedAt: Date;
  readonly updatedAt: Date;
}

// The parts of a filter, and the parts that another filter adds.

/** A part of a filter: `*` for all parties or templates, empty for blobs and topology. */
export interface FilterEntry {
  readonly kind: 'party' | 'template' | 'interface' | 'blobs' | 'topology';
  readonly name: string;
}

/** A filter in the form of the stream row: with the configured names, sorted. */
export interface StoredFilterSpec {
  readonly createdEventBlobs: boolean;
  readonly interfaces: readonly string[];
  readonly parties: readonly string[];
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
  readonly templates: readonly string[];
  readonly topology: boolean;
}

/** @param json canonical JSON, as written by `filterFingerprint` */
export function parseFilter(json: string): StoredFilterSpec {
  return JSON.parse(json) as StoredFilterSpec;
}

/** All parts of a filter, sorted by kind. */
export function filterEntries(filter: StoredFilterSpec): readonly FilterEntry[] {
  const namesOrWildcard = (names: readonly string[]): readonly string[] => (names.length === 0 ? ['*'] : names);
  return [
    ...namesOrWildcard(filter.parties).map((name) => ({ kind: 'party' as const, name })),
    ...namesOrWildcard(filter.templates).map((name) => ({ kind: 'template' as const, name })),
    ...filter.interfaces.map((name) => ({ kind: 'interface' as const, name })),
    ...(filter.createdEventBlobs ? [{ kind: 'blobs' as const, name: '' }] : []),
    ...(filter.topology ? [{ kind: 'topology' as const, name: '' }] : []),
  ];
}

/**
 * The parts that `widerFilter` requests and `previous` does not. If `previous` requests all of a kind, it has no added
 * part of that kind.
 */
export function addedParts(previous: StoredFilterSpec, widerFilter: StoredFilterSpec): readonly FilterEntry[] {
  const previousEntries = filterEntries(previous);
  const hasEntry = (kind: FilterEntry['kind'], name: string): boolean =>
    previousEntries.some((entry) => entry.kind === kind && entry.name === name);
  return filterEntries(widerFilter).filter(({ kind, name }) => !hasEntry(kind, name) && !hasEntry(kind, '*'));
}

/**
 * Whether contracts that were active before may be missing under the extended filter. Views of interfaces are
 * backfilled automatically if the filter matches the contracts anyway, and no earlier topology can be requested.
 */
export function canAddContracts(entry: FilterEntry, widerFilter: StoredFilterSpec): boolean {
  if (entry.kind === 'topology') return false;
  return entry.kind !== 'interface' || widerFilter.templates.length > 0;
}

/** Request of `filter extend`. */
export interface FilterExtensionRequest {
  /** Canonical JSON of the complete new filter; the next field is its hash. */
  readonly filter: string;
  readonly filterHash: string;
  /** Hash of the filter to be extended. */
  readonly from: string;
  /** Offset at which the active contracts are read. The stored contracts are complete from a later offset. */
  readonly listAt?: number;
}

/**
 * Request of the job `history`: to read the history that the filter in force matches from before it came into force.
 */
export interface HistoryRequest {
  readonly filterHash: string;
  /** Maximum number of updates that are read and stored per second. */
  readonly perSecond: number;
}

/** The filter of the stream row, and other filters that an indexer may be configured with. */
export interface StoredFilter {
  readonly filter: string;
  readonly filterHash: string;
  /** Hashes of the filters that were extended to this one. */
  readonly extendedFrom: readonly string[];
  /** Hash of the filter that an extension will bring into force; null if no extension is due. */
  readonly coming: string | null;
}
