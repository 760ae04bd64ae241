/**
 * Follows the history of some interfaces in the background, into a staging area, with the usual seed and follow. It
 * stages contracts that were active at the beginning, and later events, reduced to their views.
 */
import { lastValueFrom } from 'rxjs';
import { toIndexerError } from '../errors/indexer-error.ts';
import type { StreamIdentity } from '../model/stream.ts';
import { follow$, type FollowState } from './follow/follow.ts';
import type { PipelineParts } from './ports/parts.ts';
import { silentCommits, silentObservers } from './ports/quiet-observer.ts';
import type { WriterSession, ViewStaging } from './ports/sink.ts';
import { fetchLedgerIdentity } from './proof/identity.ts';
import { emptyRange } from './retry/isolate-failing-update.ts';
import { seed$, skipSeed } from './seed.ts';

/** The stream has priority: one write at a time leaves the database to it. */
const lanes = 1;

interface ViewHistoryParts {
  readonly staging: ViewStaging;
  readonly session: WriterSession;
  readonly identity: StreamIdentity;
}

export class ViewHistory {
  readonly interfaces: readonly string[];
  /** Contracts that were active at this offset, or were created later, are staged. */
  readonly begin: number;
  /**
   * The participant whose offsets are used, see `ParticipantOffsets.from`; undefined for the one that the stream began
   * with.
   */
  readonly movedAt: number | undefined;
  readonly #parts: PipelineParts;
  readonly #staging: ViewStaging;
  readonly #identity: StreamIdentity;
  #session: WriterSession;
  #offset: number | undefined;

  private constructor(parts: PipelineParts, { staging, session, identity }: ViewHistoryParts, beginOffset: number) {
    this.interfaces = parts.filter.interfaces;
    this.movedAt = parts.participantOffsets?.from;
    this.begin = session.state.seedOffset ?? beginOffset;
    this.#parts = parts;
    this.#staging = staging;
    this.#session = session;
    this.#identity = identity;
    this.#offset = session.state.seeded ? (session.state.checkpoint ?? undefined) : undefined;
  }

  /**
   * Begins at `begin`, or continues an interrupted run if the participant still returns the updates after it.
   * @param interfaces interfaces to follow, known to the participant
   * @throws IndexerError INTERFACE_BACKFILL_REFUSED, STORE_ errors, or the ledger's error
   */
  static async open(
    allParts: PipelineParts,
    interfaces: readonly string[],
    { begin: beginOffset, pruned }: { readonly begin: number; readonly pruned: number },
    stop: AbortSignal,
  ): Promise<ViewHistory> {
    const filter = { ...allParts.filter, templates: [], interfaces, onlyInterfaces: true as const, topology: false };
    const parts: PipelineParts = {
      ...allParts,
      filter: { ...filter, createdEventBlobs: false },
      wantedInterfaces: interfaces,
      start: beginOffset === 0 ? 'genesis' : 'seed',
      stopAt: undefined,
      observers: silentObservers,
      commits: silentCommits,
      tracer: undefined,
      // Missing views must not look complete, so only updates that the stream itself has quarantined are quarantined
      // here.
      mayQuarantine: (offset) => allParts.sink.marks.isQuarantined(offset),
      limits: { ...allParts.limits, writeConcurrency: lanes },
      stop,
    };
    const staging = await allParts.viewStaging();
    try {
      const identity = await fetchLedgerIdentity(parts);
      await staging.prepare({ identity, notBefore: beginOffset, pruned });
      return new ViewHistory(parts, { staging, identity, session: await staging.openSession(identity) }, beginOffset);
    } catch (thrown) {
      await staging.close();
      throw thrown;
    }
  }

  /** Offset up to which the views are staged. */
  get offset(): number {
    return this.#offset ?? this.begin;
  }

  /** Follows up to this offset; false when stopped before. @throws IndexerError of the ledger or Postgres */
  async reach(offset: number): Promise<boolean> {
    this.#offset ??= await this.#begin();
    if (this.#offset === undefined) return false;
    const followState: FollowState = {
      checkpoint: this.#offset,
      lastFrameAt: () => performance.now(),
      renew: () => undefined,
      apart: emptyRange,
      stopAt: offset,
      onCommitted: (checkpoint) => {
        this.#offset = checkpoint;
      },
    };
    for (;;) {
      try {
        await lastValueFrom(follow$(this.#parts, this.#session, followState), { defaultValue: undefined });
        return this.#offset >= offset;
      } catch (thrown) {
        if (toIndexerError(thrown).code !== 'UPDATE_QUARANTINED') throw thrown;
        this.#session = await this.#staging.openSession(this.#identity);
        followState.checkpoint = this.#session.state.checkpoint ?? followState.checkpoint;
        this.#offset = followState.checkpoint;
      }
    }
  }

  /**
   * Makes the staged views part of the stream.
   * @param position checkpoint and epoch of the stream; the views must have reached this checkpoint
   */
  merge(position: { readonly checkpoint: number; readonly epoch: number }): Promise<number> {
    return this.#staging.merge({ ...position, interfaces: this.interfaces, completeFrom: this.begin });
  }

  close(): Promise<void> {
    return this.#staging.close();
  }

  #begin(): Promise<number | undefined> {
    if (this.begin === 0) return skipSeed(this.#parts, this.#session, 0);
    const run = { apart: emptyRange, onProgress: () => undefined };
    return lastValueFrom(seed$(this.#parts, this.#session, this.begin, run), { defaultValue: undefined });
  }
}
