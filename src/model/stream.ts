/** Model of one stream: its identity, its stored state, its phase, its background jobs, and its writer. Pure. */

/** Identity of a stream: another participant, filter or shape would be another history. */
export interface StreamIdentity {
  /** Undefined when this user may not read it; then it is not compared. */
  readonly participantId: string | undefined;
  /** Canonical JSON of the filter and its SHA-256. */
  readonly filter: string;
  readonly filterHash: string;
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
}

/** A stored update, by which the ledger's history can be distinguished from another one. */
export interface UpdateMark {
  readonly offset: number;
  readonly updateId: string;
}

/** A stored active contract, by which the history is distinguished if no update can be compared. */
export interface ContractMark {
  readonly contractId: string;
  /** Offset of its create. */
  readonly offset: number;
}

/** Origin of a list of active contracts. */
export interface ListSource {
  /** The version of the participant; null when it could not be read, or no list was read. */
  readonly release: string | null;
  /** Whether the list has the reassignments in flight, as far as can be determined. */
  readonly hasInFlight: boolean;
}

/** Stored state when a session begins. */
export interface StreamState {
  readonly epoch: number;
  /** Null while no session could read it. */
  readonly participantId: string | null;
  readonly seedOffset: number | null;
  readonly seeded: boolean;
  readonly seedToken: string | null;
  readonly seedContracts: number;
  /**
   * Version of the participant that the list came from, and whether it has reassignments in flight; null: not recorded.
   */
  readonly seedRelease: string | null;
  readonly seedHasInFlight: boolean | null;
  readonly checkpoint: number | null;
  /** In offsets of the stream, even for an update that was stored while another participant was read. */
  readonly lastUpdate: UpdateMark | undefined;
  /**
   * Parts of the filter that the one of a previous start lacked, which stored nothing; absent if it is the stored one.
   */
  readonly filterReplaced?: string;
  /** Undefined while the stream never switched participants: the participant's offsets are its own. */
  readonly participantRange?: ParticipantRange | undefined;
}

/**
 * The range read from the participant that a stream was switched to. Its own offsets and those of the stream are
 * `shift` apart.
 */
export interface ParticipantRange {
  /** Counted from 1, the participant that the stream began with. */
  readonly number: number;
  /** Exclusive, in offsets of the stream: updates up to here came from other participants, under their offsets. */
  readonly from: number;
  /** Offset of the stream minus the participant's own. */
  readonly shift: number;
  /**
   * By synchronizer the offset of the stream up to which its updates are stored already, though they come after `from`:
   * each participant has its own order of two synchronizers.
   */
  readonly overlaps: Readonly<Record<string, number>>;
  /**
   * The newest update up to `from` that both participants had, at its position on this one, in offsets of the stream.
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
   * Contracts active at this offset or created after it have the views that the participant could return; 0: all of the
   * stream. Null: no views are stored yet.
   */
  readonly completeFrom: number | null;
  /** The ledger end when the participant last reported that it does not know it; null: it never did. */
  readonly unknownAt: number | null;
}

/**
 * Beginning of a stream: the active contracts, or nothing at the genesis, at the oldest offset available, or at a given
 * one.
 */
export type SeedOrigin = 'seed' | 'genesis' | 'oldest' | 'offset';

/** An update to be quarantined. */
export interface QuarantinedUpdate {
  readonly offset: number;
  /** Error code. */
  readonly code: string;
  /** Description of the problem, without contents. */
  readonly problem: string;
  /** As the ledger sent it. */
  readonly frame: Buffer;
}

/** Comparison of the dictionary of templates with the stored packages. */
export interface PackageState {
  /** Ids that templates, interfaces or choices name and that were not read, in order of first appearance. */
  readonly missing: readonly string[];
  /** Names of read packages that the dictionary names, sorted: their templates get a view. */
  readonly named: readonly string[];
  /** Number of templates and interfaces in the dictionary. */
  readonly templates: number;
}

/** Result of merging newly read active contracts with the stored ones. */
export interface Merged {
  /** Contracts that were active here and ended in the gap. */
  readonly ended: number;
  /** Contracts of the ledger that were not active here. */
  readonly added: number;
  /** Contracts active before and after the gap. */
  readonly kept: number;
}

/** Current activity of the indexer. Exactly one applies at any time; exported as metric `indexer_phase`. */
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
 * The session that holds the writer lock. Postgres returns the last two fields to its own role and to members of
 * pg_monitor only.
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

/** Offset and parties for reading completions. */
export interface CompletionStart {
  /** Exclusive: where the stream's own history begins, if nothing was read yet. */
  readonly begin: number;
  /** Empty: of all parties. */
  readonly parties: readonly string[];
}

/** Completions that cannot be read any more. */
export interface CompletionGap {
  /** The checkpoint so far. */
  readonly from: number;
  /** Completions can be read from here (exclusive). */
  readonly to: number;
  readonly reason: string;
}

// Background jobs that an operator requests: rows of table `jobs`.

export const jobNames = ['filter-extend', 'history', 'rebuild'] as const;
export type JobName = (typeof jobNames)[number];
export type JobState = 'requested' | 'working' | 'paused' | 'done' | 'failed';

export interface JobProgress {
  /** Current step, as text. */
  readonly step: string | null;
  readonly unit: 'contracts' | 'offsets' | null;
  /** Amount of the step that is done, and amount of the step; null if unknown. */
  readonly done: number;
  readonly total: number | null;
  /** Null while the job does not run. */
  readonly perSecond: number | null;
  /** Reason of the failure, or of the last retry. */
  readonly problem: string | null;
}

export interface Job extends JobProgress {
  readonly name: JobName;
  readonly state: JobState;
  /** Its fields depend on the name. */
  readonly request: unknown;
  readonly requestedAt: Date;
  readonly updatedAt: Date;
}

// The parts of a filter, and those that another one adds.

/** A part of a filter: `*` for all parties or templates, empty for blobs and topology. */
export interface FilterPart {
  readonly kind: 'party' | 'template' | 'interface' | 'blobs' | 'topology';
  readonly name: string;
}

/** A filter as the stream row stores it: the configured names, sorted. */
export interface KeptFilter {
  readonly createdEventBlobs: boolean;
  readonly interfaces: readonly string[];
  readonly parties: readonly string[];
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
  readonly templates: readonly string[];
  readonly topology: boolean;
}

/** @param json canonical, as `filterFingerprint` writes it */
export function keptFilter(json: string): KeptFilter {
  return JSON.parse(json) as KeptFilter;
}

/** All parts of a filter, in the order of kinds. */
export function partsOf(filter: KeptFilter): readonly FilterPart[] {
  const orAll = (names: readonly string[]): readonly string[] => (names.length === 0 ? ['*'] : names);
  return [
    ...orAll(filter.parties).map((name) => ({ kind: 'party' as const, name })),
    ...orAll(filter.templates).map((name) => ({ kind: 'template' as const, name })),
    ...filter.interfaces.map((name) => ({ kind: 'interface' as const, name })),
    ...(filter.createdEventBlobs ? [{ kind: 'blobs' as const, name: '' }] : []),
    ...(filter.topology ? [{ kind: 'topology' as const, name: '' }] : []),
  ];
}

/** The parts that `wider` requests and `former` does not: none if `former` requests all of the kind. */
export function addedParts(previous: KeptFilter, wider: KeptFilter): readonly FilterPart[] {
  const had = partsOf(previous);
  const has = (kind: FilterPart['kind'], name: string): boolean =>
    had.some((part) => part.kind === kind && part.name === name);
  return partsOf(wider).filter(({ kind, name }) => !has(kind, name) && !has(kind, '*'));
}

/**
 * Whether contracts that were active before may be missing under the extended filter. Views of interfaces are
 * backfilled automatically if the filter matches the contracts anyhow, and topology has no past that could be
 * requested.
 */
export function bringsContracts(part: FilterPart, wider: KeptFilter): boolean {
  if (part.kind === 'topology') return false;
  return part.kind !== 'interface' || wider.templates.length > 0;
}

/** Request of `filter extend`. */
export interface FilterExtensionRequest {
  /** Canonical JSON of the complete new filter, and its hash. */
  readonly filter: string;
  readonly filterHash: string;
  /** Hash of the filter that it extends. */
  readonly from: string;
  /** The contracts active at this offset are read; the stored ones are complete from a later offset. */
  readonly listAt?: number;
}

/** Request of the job `history`: history that a filter in force matches from before it came into force. */
export interface HistoryRequest {
  readonly filterHash: string;
  /** Maximum updates per second that are read and stored. */
  readonly perSecond: number;
}

/** The filter of the stream row, and the other filters that an indexer may be configured with. */
export interface StoredFilter {
  readonly filter: string;
  readonly filterHash: string;
  /** Hashes of the filters that it was extended from. */
  readonly extendedFrom: readonly string[];
  /** Hash of the filter that it is about to be extended to; null: none. */
  readonly coming: string | null;
}
