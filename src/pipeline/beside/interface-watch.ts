/**
 * Interfaces that are wanted and that the participant does not know yet: it is asked again, and when it knows them their
 * views are gathered beside the stream, from as far back as it still shows. Once they are level with the stream, the session
 * ends; before the next one begins they are merged, and from there on the stream asks for them. The stream never waits
 * for the gathering, only for the last of it, and never fails by it.
 */
import { EMPTY, Observable } from 'rxjs';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { interfacesNamed } from '../../model/interface-presets.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { Connected } from '../proof/identity.ts';
import { knownInterfaces } from '../../ledger/api/known-interfaces.ts';
import { pause, retryAfterMs } from '../retry/retry.ts';
import { ViewHistory } from './view-history.ts';

/** A last stretch that took no longer will not keep the stream waiting. */
const levelMs = 2_000;

/** One for the life of the process: what is level outlives the session that it was gathered beside. */
export class InterfaceWatch {
  readonly #parts: PipelineParts;
  #level: ViewHistory | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Whether views are ready to be merged. */
  get isLevel(): boolean {
    return this.#level !== undefined;
  }

  /** Emits once, when views are level with the stream and the session should end. Never fails. */
  watch$({ parts }: Connected, following: { readonly checkpoint: number }): Observable<'level'> {
    const missing = interfacesNamed(parts.wantedInterfaces).filter((id) => !parts.filter.interfaces.includes(id));
    if (missing.length === 0) return EMPTY;
    return new Observable((subscriber) => {
      const over = new AbortController();
      const gathering = { missing, following, stop: AbortSignal.any([parts.stop, over.signal]) };
      void (async () => {
        if (await this.#untilLevel(gathering)) subscriber.next('level');
        subscriber.complete();
      })();
      return () => {
        if (!this.isLevel) over.abort();
      };
    });
  }

  /**
   * Before a session: brings what is level to the checkpoint and merges it.
   * @returns whether it did, so that the stream has to be looked at anew
   */
  async merge({ session, parts }: Connected): Promise<boolean> {
    const history = this.#level;
    const { checkpoint, epoch } = session.state;
    if (history === undefined || checkpoint === null) return false;
    this.#level = undefined;
    try {
      if (!(await history.reach(checkpoint))) return false;
      const views = await history.merge({ checkpoint, epoch });
      parts.observer.viewsAdded(history.interfaces, views);
      return true;
    } catch (thrown) {
      parts.observer.viewsFailed(toIndexerError(thrown), parts.limits.retryMaxMs);
      return false;
    } finally {
      await history.close();
    }
  }

  async close(): Promise<void> {
    await this.#level?.close();
    this.#level = undefined;
  }

  async #untilLevel(gathering: Gathering): Promise<boolean> {
    const { stop } = gathering;
    while (!stop.aborted) {
      let delayMs = this.#parts.limits.retryMaxMs;
      try {
        this.#level = await gathered(this.#parts, gathering);
        if (this.isLevel) return true;
      } catch (thrown) {
        const error = toIndexerError(thrown);
        if (error.retry === 'refresh-token') this.#parts.tokenSource.invalidate();
        delayMs = Math.max(delayMs, retryAfterMs(error));
        if (!stop.aborted) this.#parts.observer.viewsFailed(error, delayMs);
      }
      await pause(delayMs, stop);
    }
    return false;
  }
}

interface Gathering {
  readonly missing: readonly string[];
  readonly following: { readonly checkpoint: number };
  readonly stop: AbortSignal;
}

/** Undefined while the participant knows none of them, and when it was stopped. */
async function gathered(
  parts: PipelineParts,
  { missing, following, stop }: Gathering,
): Promise<ViewHistory | undefined> {
  const { ledger, sink, observer } = parts;
  const known = await knownInterfaces(ledger, parts.filter, missing, await ledger.state.ledgerEnd());
  if (known.length === 0) return undefined;
  // Before it the stream knows nothing, or the participant shows nothing any more.
  const begin = Math.max(await sink.marks.historyBegin(), await ledger.state.latestPrunedOffsets());
  const history = await ViewHistory.open(parts, known, begin, stop);
  try {
    observer.viewsGathering(known, history.begin);
    for (;;) {
      const began = performance.now();
      if (!(await history.reach(following.checkpoint))) break;
      if (performance.now() - began < levelMs) return history;
    }
  } catch (thrown) {
    await history.close();
    throw thrown;
  }
  await history.close();
  return undefined;
}
