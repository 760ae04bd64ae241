/**
 * Status of background jobs. It also lists parties and interfaces that the participant does not know, and options that
 * differ from the filter.
 */
import type { UnknownNameCount } from '../../model/unknown.ts';
import { UnknownNames } from '../../model/unknown.ts';
import { ProjectionHealth, type ProjectionStatus } from './projection-health.ts';
import { RetentionProgress, type RetentionStatus } from './retention-progress.ts';
import { RequestedJobs, type RequestedJobStatus } from './requested-jobs.ts';

/** State of command completions: followed, disabled or not permitted, or failing temporarily. */
export interface CompletionStatus {
  readonly state: 'waiting' | 'following' | 'off' | 'failing';
  readonly reason: string;
  /** Completions are stored up to this offset; null if unknown. */
  readonly checkpoint: number | null;
}

/** Fields of `/status` about background jobs. */
export interface JobStatus {
  /**
   * Number of contracts that are neither active nor ended, because their parties left the participant; null until
   * counted.
   */
  readonly contractsUnhosted: number | null;
  /** Whether completions are followed in the background, and up to which offset. */
  readonly completions: CompletionStatus;
  /** Configured interfaces that the participant does not know. */
  readonly interfacesWaiting: readonly string[];
  /** Interfaces whose views are being backfilled in the background. */
  readonly interfacesBackfilling: readonly string[];
  /** Options that still contain the filter from before it was extended; empty if all match the filter in force. */
  readonly outdatedOptions: readonly string[];
  /** Parties in LEDGER_PARTIES that the participant does not know. */
  readonly partiesUnknown: readonly string[];
  /** Rows pruned by INDEXER_RETENTION since the last pass began; null if it is not set, and before the first pass. */
  readonly retention: RetentionStatus | null;
  /** Projections that have made a step in this process. */
  readonly projections: readonly ProjectionStatus[];
  /** Jobs of table `jobs`. Contains the last job of each name, from all processes. */
  readonly jobs: readonly RequestedJobStatus[];
  /** Kinds and fields that the ledger sent and this version does not know. */
  readonly unknown: readonly UnknownNameCount[];
}

/** Status of the background jobs. The report of each job sets its own field. */
export class JobHealth {
  readonly unknown = new UnknownNames();
  readonly retention = new RetentionProgress();
  readonly projections = new ProjectionHealth();
  readonly requested = new RequestedJobs();
  contractsUnhosted: number | null = null;
  interfacesWaiting: readonly string[] = [];
  interfacesBackfilling: readonly string[] = [];
  outdatedOptions: readonly string[] = [];
  partiesUnknown: readonly string[] = [];
  #completions: CompletionStatus = { state: 'waiting', reason: 'the stream has not begun', checkpoint: null };

  get completions(): CompletionStatus {
    return this.#completions;
  }

  /** If `change` has no checkpoint, the previous one is kept. */
  completionsChanged(change: Omit<CompletionStatus, 'checkpoint'> & { readonly checkpoint?: number }): void {
    this.#completions = { ...this.#completions, ...change };
  }

  status(): JobStatus {
    return {
      contractsUnhosted: this.contractsUnhosted,
      completions: this.#completions,
      interfacesWaiting: this.interfacesWaiting,
      interfacesBackfilling: this.interfacesBackfilling,
      outdatedOptions: this.outdatedOptions,
      partiesUnknown: this.partiesUnknown,
      retention: this.retention.status(),
      projections: this.projections.status(),
      jobs: this.requested.status(),
      unknown: this.unknown.all,
    };
  }
}
