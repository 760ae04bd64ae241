/**
 * The history of some interfaces, followed beside the stream into a place of its own by the same seed and the same follow
 * as ever: contracts that were active where it begins, and what happened since, with nothing but their views in mind.
 */
import { lastValueFrom } from 'rxjs';
import { toIndexerError } from '../errors/indexer-error.ts';
import type { StreamIdentity } from '../model/stream.ts';
import { follow$, type Following } from './follow/follow.ts';
import type { PipelineParts } from './ports/parts.ts';
import { quietCommits, quietObservers } from './ports/quiet-observer.ts';
import type { SinkSession, ViewStaging } from './ports/sink.ts';
import { askIdentity } from './proof/identity.ts';
import { nowhere } from './retry/apart.ts';
import { seed$, skipSeed } from './seed.ts';

/** Beside the stream there is time: small batches leave the database to it. */
const lanes = 1;

interface Opened {
  readonly staging: ViewStaging;
  readonly session: SinkSession;
  readonly identity: StreamIdentity;
}

export class ViewHistory {
  readonly interfaces: readonly string[];
  /** Contracts that were active here, or began later, are gathered. */
  readonly begin: number;
  /** Whose offsets it follows, see `ParticipantOffsets.from`; undefined: those of the participant that the stream began with. */
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
   * Begins at `begin`, or goes on where a run that was cut has come to, if the participant still shows what follows.
   * @param interfaces those to follow, known to the participant
   * @throws IndexerError INTERFACE_BACKFILL_REFUSED, STORE_ errors, or what the ledger answers
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
      // Views that are missing must not look as if they were all: what the stream has itself is not set aside here.
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

  /** Up to where it was followed. */
  get offset(): number {
    return this.#offset ?? this.begin;
  }

  /** Follows to this offset; false when it was stopped before. @throws IndexerError: what the ledger or Postgres said */
  async reach(offset: number): Promise<boolean> {
    this.#offset ??= await this.#begin();
    if (this.#offset === undefined) return false;
    const following: Following = {
      checkpoint: this.#offset,
      lastFrameAt: () => performance.now(),
      renew: () => undefined,
      apart: nowhere,
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

  /** Makes what was gathered part of the stream. @param at where the stream stands, and the views too */
  merge(at: { readonly checkpoint: number; readonly epoch: number }): Promise<number> {
    return this.#staging.merge({ ...at, interfaces: this.interfaces, completeFrom: this.begin });
  }

  close(): Promise<void> {
    return this.#staging.close();
  }

  #begin(): Promise<number | undefined> {
    if (this.begin === 0) return skipSeed(this.#parts, this.#session, 0);
    const run = { apart: nowhere, onProgress: () => undefined };
    return lastValueFrom(seed$(this.#parts, this.#session, this.begin, run), { defaultValue: undefined });
  }
}
