/** What can be said of one stream: who it is, what is stored of it, what it is doing and what is done beside it, who writes it. Pure. */

/** What identifies a stream: another participant, filter or shape would be another history. */
export interface StreamIdentity {
  /** Undefined when the participant does not tell it to this user; then it is not compared. */
  readonly participantId: string | undefined;
  /** Canonical JSON of the filter and its SHA-256. */
  readonly filter: string;
  readonly filterHash: string;
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
}

/** A stored update, by which the ledger's history can be told from another one. */
export interface UpdateMark {
  readonly offset: number;
  readonly updateId: string;
}

/** A stored contract that is active, by which the same is told where no update can be. */
export interface ContractMark {
  readonly contractId: string;
  /** Offset of its create. */
  readonly offset: number;
}

/** Where a list of active contracts came from. */
export interface ListSource {
  /** The version of the participant; null when it could not be read, or no list was read. */
  readonly release: string | null;
  /** Whether the list has the reassignments in flight, as far as anyone can tell. */
  readonly hasInFlight: boolean;
}

/** Where the stream is when a session begins. */
export interface StreamState {
  readonly epoch: number;
  /** Null while no session could read it. */
  readonly participantId: string | null;
  readonly seedOffset: number | null;
  readonly seeded: boolean;
  readonly seedToken: string | null;
  readonly seedContracts: number;
  /** Version of the participant that the list came from, and whether it has reassignments in flight; null: not noted. */
  readonly seedRelease: string | null;
  readonly seedHasInFlight: boolean | null;
  readonly checkpoint: number | null;
  /** In offsets of the stream, also where it is told of an update that was stored while another participant was read. */
  readonly lastUpdate: UpdateMark | undefined;
  /** What the filter has that the one of a former start had not, which stored nothing; left out where it is the stored one. */
  readonly filterReplaced?: string;
  /** Undefined while the stream never switched participants: the participant's offsets are its own. */
  readonly participantRange?: ParticipantRange | undefined;
}

/** What is read from the participant that a stream was switched to. Its own offsets and those of the stream are `shift` apart. */
export interface ParticipantRange {
  /** Counted from 1, the participant that the stream began with. */
  readonly number: number;
  /** Exclusive, in offsets of the stream: what is stored up to here came from others, under their offsets. */
  readonly from: number;
  /** Offset of the stream minus the participant's own. */
  readonly shift: number;
  /**
   * By synchronizer the offset of the stream up to which its updates are stored already, though they come after `from`: each
   * participant has its own order of two synchronizers.
   */
  readonly overlaps: Readonly<Record<string, number>>;
  /** The newest update up to `from` that both participants had, where this one has it, in offsets of the stream. */
  readonly common: UpdateMark;
}

/** An interface whose views are wanted. */
export interface WantedInterface {
  /** `#package-name:Module:Entity`. */
  readonly id: string;
  /**
   * `followed`: the stream is asked for its views. `backfilling`: the participant knows it, and views are gathered beside the
   * stream. `waiting`: the participant does not know it, or was not asked yet.
   */
  readonly state: 'waiting' | 'backfilling' | 'followed';
  /**
   * Contracts that were active at this offset or began after it have the views that the participant could show; 0: all of
   * the stream. Null: none were taken yet.
   */
  readonly completeFrom: number | null;
  /** The ledger end when the participant last said that it does not know it; null: it never did. */
  readonly unknownAt: number | null;
}

/** What a stream began with: the active contracts, or nothing at the genesis, the oldest offset shown, or a given one. */
export type SeedOrigin = 'seed' | 'genesis' | 'oldest' | 'offset';

/** An update to be set aside. */
export interface QuarantinedUpdate {
  readonly offset: number;
  /** Error code. */
  readonly code: string;
  /** What was found, without contents. */
  readonly problem: string;
  /** As the ledger sent it. */
  readonly frame: Buffer;
}

/** What the dictionary of templates and the stored packages say of each other. */
export interface PackageState {
  /** Ids that templates, interfaces or choices name and that were not read, in order of first appearance. */
  readonly missing: readonly string[];
  /** Names of read packages that the dictionary names, sorted: whose templates are worth a view. */
  readonly named: readonly string[];
  /** How many templates and interfaces the dictionary has. */
  readonly templates: number;
}

/** What came of active contracts that were gathered again and met those that were stored. */
export interface Merged {
  /** Contracts that were active here and ended in the gap. */
  readonly ended: number;
  /** Contracts of the ledger that were not active here. */
  readonly added: number;
  /** Contracts active before and after the gap. */
  readonly kept: number;
}

/** What the indexer is doing right now. Exactly one holds at any time; the metric `indexer_phase` shows it. */
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

/** The session that has the right to write. Postgres shows the last two to its own role and to members of pg_monitor only. */
export interface LockHolder {
  readonly pid: number;
  readonly role: string | null;
  /** `application_name`, as the session calls itself. */
  readonly application: string | null;
  /** Null for a local socket, or where it is not shown. */
  readonly address: string | null;
  /** When its session began; null where it is not shown. */
  readonly since: string | null;
}

/** The holder in words, for messages. */
export function holderText({ pid, role, application, address, since }: LockHolder): string {
  const from = since === null ? '' : `, from ${address ?? 'a local socket'}, since ${since}`;
  return `session ${String(pid)} of role "${role ?? 'not known'}", application "${application ?? ''}"${from}`;
}

/** Where completions are read from, and whose. */
export interface CompletionStart {
  /** Exclusive: where the stream's own history begins, if nothing was read yet. */
  readonly begin: number;
  /** Empty: of all parties. */
  readonly parties: readonly string[];
}

/** Completions that nobody shows any more. */
export interface CompletionGap {
  /** The checkpoint so far. */
  readonly from: number;
  /** Completions are shown from here on (exclusive). */
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

// What a filter is made of, and what another one has that it lacks.

/** Something that a filter asks for: `*` stands for all parties or templates, nothing for blobs and topology. */
export interface FilterPart {
  readonly kind: 'party' | 'template' | 'interface' | 'blobs' | 'topology';
  readonly name: string;
}

/** A filter as the stream row keeps it: the words of the configuration, sorted. */
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

/** What `wider` asks for and `former` does not: nothing where `former` asks for all of the kind. */
export function addedParts(former: KeptFilter, wider: KeptFilter): readonly FilterPart[] {
  const had = partsOf(former);
  const has = (kind: FilterPart['kind'], name: string): boolean =>
    had.some((part) => part.kind === kind && part.name === name);
  return partsOf(wider).filter(({ kind, name }) => !has(kind, name) && !has(kind, '*'));
}

/**
 * Whether contracts that were active before may be missing under the wider filter. Views of interfaces are gathered by
 * themselves where the filter shows the contracts anyhow, and topology has no past that could be asked for.
 */
export function bringsContracts(part: FilterPart, wider: KeptFilter): boolean {
  if (part.kind === 'topology') return false;
  return part.kind !== 'interface' || wider.templates.length > 0;
}

/** What was asked for with `filter extend`. */
export interface WantedFilterExtension {
  /** Canonical JSON of the whole new filter, and its hash. */
  readonly filter: string;
  readonly filterHash: string;
  /** Hash of the filter that it extends. */
  readonly from: string;
  /** What was active at this offset is gathered, although it is there from a later one on. */
  readonly listAt?: number;
}

/** Request of the job `history`: what a filter in force shows of the time before it came into force. */
export interface WantedHistory {
  readonly filterHash: string;
  /** At most so many updates a second are read and stored. */
  readonly perSecond: number;
}

/** The filter of the stream row, and which others an indexer may be configured with beside it. */
export interface StoredFilter {
  readonly filter: string;
  readonly filterHash: string;
  /** Hashes of the filters that it was extended from. */
  readonly extendedFrom: readonly string[];
  /** Hash of the filter that it is about to be extended to; null: it is not. */
  readonly coming: string | null;
}
