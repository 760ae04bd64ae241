/**
 * Completions: the results of every submission of a user, in offset order, and the lookup of earlier submissions of the
 * same change. A change is identified by user, acting parties and command id.
 */
import { longestSeconds, isWithinHistory } from './deduplication.ts';
import type { DeduplicationPeriod } from './deduplication.ts';
import { asObject, asText } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import { fingerprint } from '../wire/random.ts';
import { isFrom } from '../wire/release.ts';
import type { Release } from '../wire/release.ts';
import { errorInfo, requestInfo, resourceInfo } from '../wire/status-details.ts';
import type { TraceContext } from '../wire/wire.ts';

/** The part of a submission that its completion repeats. */
export interface Change {
  readonly userId: string;
  readonly actAs: readonly string[];
  readonly commandId: string;
  readonly submissionId: string;
  readonly deduplication: DeduplicationPeriod;
  /** Lower-case hex of the hash that external parties signed. */
  readonly externalHash: string | null;
}

export interface Completion extends Change {
  readonly offset: number;
  /** Microseconds since 1970. */
  readonly at: number;
  /** The body of the refusal; undefined if the submission was accepted. */
  readonly refusal: JsonObject | undefined;
  /** Empty if the submission was refused. */
  readonly updateId: string;
  readonly synchronizerId: string;
  readonly recordTime: string;
  readonly traceContext: TraceContext | null;
  readonly paidTrafficCost: number;
  /** The offset (exclusive) back to which its deduplication period reached. */
  readonly deduplicatedAfter: number;
}

/** A key that identifies a change. The order of the acting parties does not matter. */
export function changeId({ userId, actAs, commandId }: Pick<Change, 'userId' | 'actAs' | 'commandId'>): string {
  return fingerprint(JSON.stringify([userId, [...new Set(actAs)].sort(), commandId]));
}

/** Completions as stored in a snapshot. */
export interface SavedCompletions {
  readonly all: Completion[];
  readonly accepted: Map<string, Completion>;
  readonly byHash: Map<string, Completion>;
}

export class Completions {
  #all: Completion[] = [];
  #accepted = new Map<string, Completion>();
  #byHash = new Map<string, Completion>();

  save(): SavedCompletions {
    return { all: this.#all, accepted: this.#accepted, byHash: this.#byHash };
  }

  load({ all, accepted, byHash }: SavedCompletions): void {
    this.#all = all;
    this.#accepted = accepted;
    this.#byHash = byHash;
  }

  /** Adds the next completion. Offsets increase. */
  add(listedCompletion: Omit<Completion, 'deduplicatedAfter'>): void {
    const completion = {
      ...listedCompletion,
      deduplicatedAfter: this.#deduplicatedAfter(listedCompletion.deduplication, listedCompletion.at),
    };
    this.#all.push(completion);
    if (completion.refusal !== undefined) return;
    this.#accepted.set(changeId(completion), completion);
    if (completion.externalHash !== null) this.#byHash.set(completion.externalHash, completion);
  }

  /**
   * The same for a completion whose command id will not be used again, so that no later submission is compared with it.
   */
  note(completion: Omit<Completion, 'deduplicatedAfter'>): void {
    this.#all.push({
      ...completion,
      deduplicatedAfter: this.#deduplicatedAfter(completion.deduplication, completion.at),
    });
  }

  /**
   * The accepted completion because of which a submission at `at` (microseconds since 1970) is a duplicate. A
   * transaction signed by external parties is accepted only once, whatever the period is.
   */
  duplicateOf(change: Change, at: number): Completion | undefined {
    const replayedCompletion = change.externalHash === null ? undefined : this.#byHash.get(change.externalHash);
    if (replayedCompletion !== undefined) return replayedCompletion;
    const earlierCompletion = this.#accepted.get(changeId(change));
    return earlierCompletion !== undefined && isWithinHistory(change.deduplication, earlierCompletion, at)
      ? earlierCompletion
      : undefined;
  }

  /** The completions of the submissions of one signed transaction, newest last. */
  ofHash(hash: string): readonly Completion[] {
    return this.#all.filter(({ externalHash }) => externalHash === hash);
  }

  /** At most `limit` completions with beginExclusive < offset <= endInclusive, in ascending order. */
  range(beginExclusive: number, endInclusive: number, limit: number): readonly Completion[] {
    const from = this.#firstAfter(beginExclusive);
    return this.#all.slice(from, Math.min(this.#firstAfter(endInclusive), from + limit));
  }

  /**
   * Removes everything up to and including the offset, except completions that later submissions are compared with.
   * These are within the maximum period, which is longer than the period in which a signed transaction can be executed.
   */
  prune(offset: number): void {
    const newestTime = this.#all.at(-1)?.at ?? 0;
    for (const completionMap of [this.#accepted, this.#byHash]) {
      for (const [key, completion] of completionMap) {
        if (completion.offset <= offset && completion.at < newestTime - longestSeconds * 1_000_000)
          completionMap.delete(key);
      }
    }
    this.#all = this.#all.slice(this.#firstAfter(offset));
  }

  /** Removes everything after the offset, as if it had not happened. */
  rewind(offset: number): void {
    const remainingCompletions = this.#all.slice(0, this.#firstAfter(offset));
    for (const completionMap of [this.#accepted, this.#byHash]) {
      for (const [key, completion] of completionMap) if (completion.offset > offset) completionMap.delete(key);
    }
    this.#all = remainingCompletions;
  }

  #deduplicatedAfter(period: DeduplicationPeriod, at: number): number {
    if (period.kind === 'offset') return period.offset;
    let low = 0;
    let high = this.#all.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const earlierCompletion = this.#all[middle];
      if (earlierCompletion !== undefined && isWithinHistory(period, earlierCompletion, at)) high = middle;
      else low = middle + 1;
    }
    return this.#all[low - 1]?.offset ?? 0;
  }

  #firstAfter(offset: number): number {
    let low = 0;
    let high = this.#all.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#all[middle]?.offset ?? Infinity) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The resources of an error, with the kind of each. */
function asPairs(resources: Json | undefined): readonly (readonly [string, string])[] {
  return (Array.isArray(resources) ? resources : []).map((pair) => {
    const [type, name] = Array.isArray(pair) ? pair : [];
    return [asText(type), asText(name)];
  });
}

/** The status of a completion: gRPC code, `CODE(category,trace): cause`, and the details of the error as typed messages. */
function statusOf(refusal: JsonObject | undefined): JsonObject {
  if (refusal === undefined) return { code: 0, message: '', details: [] };
  const { code, cause, errorCategory, grpcCodeValue, traceId } = refusal;
  const message = `${asText(code)}(${JSON.stringify(errorCategory ?? -1)},${asText(traceId).slice(0, 8)}): ${asText(cause)}`;
  const details: Json[] = [
    errorInfo(asText(code), asObject(refusal['context']) ?? {}),
    requestInfo(asText(refusal['correlationId']) || asText(traceId)),
    ...asPairs(refusal['resources']).map(([type, name]) => resourceInfo(type, name)),
  ];
  return { code: grpcCodeValue ?? 2, message, details };
}

/** The frame of a completion for readers of these parties; undefined `parties` for readers of any party. */
export function completionFrame(
  completion: Completion,
  parties: ReadonlySet<string> | undefined,
  release: Release,
): string | undefined {
  const value = visibleCompletion(completion, (party) => parties === undefined || parties.has(party), release);
  return value === undefined ? undefined : JSON.stringify({ completionResponse: { Completion: { value } } });
}

/** A completion, as far as it is visible to readers of these parties; undefined if it is not visible. */
export function visibleCompletion(
  completion: Completion,
  canReadAs: (party: string) => boolean,
  release: Release,
): JsonObject | undefined {
  const actAs = completion.actAs.filter((party) => canReadAs(party));
  if (actAs.length === 0) return undefined;
  const { commandId, updateId, userId, submissionId, traceContext, offset, synchronizerId, recordTime } = completion;
  return {
    commandId,
    status: statusOf(completion.refusal),
    updateId,
    userId,
    actAs,
    submissionId,
    deduplicationPeriod: { DeduplicationOffset: { value: completion.deduplicatedAfter } },
    traceContext: traceContext === null ? null : { ...traceContext },
    offset,
    synchronizerTime: { synchronizerId, recordTime },
    paidTrafficCost: completion.paidTrafficCost,
    ...(isFrom(release, '3.6') ? { transactionHash: completion.externalHash } : {}),
  };
}
