/** Status of background jobs, and of parties, interfaces and options that the participant or the filter lacks. */
import type { UnknownName } from '../../model/unknown.ts';
import { UnknownNames } from '../../model/unknown.ts';
import { RetentionProgress, type RetentionStatus } from './retention-progress.ts';
import { RequestedJobs, type RequestedJobStatus } from './requested-jobs.ts';

/** State of command completions: followed, disabled or not permitted, or failing temporarily. */
export interface CompletionStatus {
  readonly state: 'waiting' | 'following' | 'off' | 'failing';
  readonly reason: string;
  /** Stored up to this offset; null until it is known. */
  readonly checkpoint: number | null;
}

/** Fields of `/status` about background jobs. */
export interface JobStatus {
  /** Contracts that are neither active nor ended, because their parties left the participant; null until counted. */
  readonly contractsUnhosted: number | null;
  /** Whether completions are followed in the background, and up to which offset. */
  readonly completions: CompletionStatus;
  /** Configured interfaces that the participant does not know. */
  readonly interfacesWaiting: readonly string[];
  /** Interfaces whose views are being backfilled in the background. */
  readonly interfacesBackfilling: readonly string[];
  /** Options that name a filter which has since been extended; empty if all match the filter in force. */
  readonly outdatedOptions: readonly string[];
  /** Parties of LEDGER_PARTIES that the participant does not know. */
  readonly partiesUnknown: readonly string[];
  /** Rows pruned by INDEXER_RETENTION since the last pass began; null without it, and before the first pass. */
  readonly retention: RetentionStatus | null;
  /** Jobs of table `jobs`, the last one of each name, whichever process runs them. */
  readonly jobs: readonly RequestedJobStatus[];
  /** Kinds and fields sent by the ledger that this version does not know. */
  readonly unknown: readonly UnknownName[];
}

/** Each field is set by the report of its job. */
export class JobHealth {
  readonly unknown = new UnknownNames();
  readonly retention = new RetentionProgress();
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

  /** Without a checkpoint, the previous one stays. */
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
      jobs: this.requested.status(),
      unknown: this.unknown.all,
    };
  }
}
