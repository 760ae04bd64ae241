/**
 * Follows the history of some interfaces in the background, into a staging area, with the usual seed and follow. It
 * stages contracts that were active at the beginning, and later events, reduced to their views.
 */
import { lastValueFrom } from 'rxjs';
import { toIndexerError } from '../errors/indexer-error.ts';
import type { StreamIdentity } from '../model/stream.ts';
import { follow$, type Following } from './follow/follow.ts';
import type { PipelineParts } from './ports/parts.ts';
import { quietCommits, quietObservers } from './ports/quiet-observer.ts';
import type { SinkSession, ViewStaging } from './ports/sink.ts';
import { askIdentity } from './proof/identity.ts';
import { emptyRange } from './retry/isolate-failing-update.ts';
import { seed$, skipSeed } from './seed.ts';

/** The stream has priority: one write at a time leaves the database to it. */
const lanes = 1;

interface Opened {
  readonly staging: ViewStaging;
  readonly session: SinkSession;
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
  #session: SinkSession;
  #offset: number | undefined;

  private constructor(parts: PipelineParts, { staging, session, identity }: Opened, begin: number) {
    this.interfaces = parts.filter.interfaces;
    this.movedAt = parts.participantOffsets?.from;
    this.begin = session.state.seedOffset ?? begin;
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
    all: PipelineParts,
    interfaces: readonly string[],
    { begin, pruned }: { readonly begin: number; readonly pruned: number },
    stop: AbortSignal,
  ): Promise<ViewHistory> {
    const filter = { ...all.filter, templates: [], interfaces, onlyInterfaces: true as const, topology: false };
    const parts: PipelineParts = {
      ...all,
      filter: { ...filter, createdEventBlobs: false },
      wantedInterfaces: interfaces,
      start: begin === 0 ? 'genesis' : 'seed',
      stopAt: undefined,
      observers: quietObservers,
      commits: quietCommits,
      tracer: undefined,
      // Missing views must not look complete, so only updates that the stream itself has quarantined are quarantined
      // here.
      mayQuarantine: (offset) => all.sink.marks.isQuarantined(offset),
      limits: { ...all.limits, writeConcurrency: lanes },
      stop,
    };
    const staging = await all.viewStaging();
    try {
      const identity = await askIdentity(parts);
      await staging.prepare({ identity, notBefore: begin, pruned });
      return new ViewHistory(parts, { staging, identity, session: await staging.openSession(identity) }, begin);
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
    const following: Following = {
      checkpoint: this.#offset,
      lastFrameAt: () => performance.now(),
      renew: () => undefined,
      apart: emptyRange,
      stopAt: offset,
      onCommitted: (reached) => {
        this.#offset = reached;
      },
    };
    for (;;) {
      try {
        await lastValueFrom(follow$(this.#parts, this.#session, following), { defaultValue: undefined });
        return this.#offset >= offset;
      } catch (thrown) {
        if (toIndexerError(thrown).code !== 'UPDATE_QUARANTINED') throw thrown;
        this.#session = await this.#staging.openSession(this.#identity);
        following.checkpoint = this.#session.state.checkpoint ?? following.checkpoint;
        this.#offset = following.checkpoint;
      }
    }
  }

  /**
   * Makes the staged views part of the stream.
   * @param at checkpoint and epoch of the stream; the views must have reached this checkpoint
   */
  merge(at: { readonly checkpoint: number; readonly epoch: number }): Promise<number> {
    return this.#staging.merge({ ...at, interfaces: this.interfaces, completeFrom: this.begin });
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
