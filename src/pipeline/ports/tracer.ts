/**
 * Port through which batches and seeds are traced. If tracing is off, the pipeline has no tracer and collects nothing.
 * No method may throw or block.
 */
import { defer, finalize, tap, type Observable } from 'rxjs';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { Batch } from '../../model/batch.ts';
import type { Update } from '../../model/update.ts';

/** One batch, from its first frame to its commit. */
export interface BatchSpan {
  /** Adds an update to the batch, and a link to the trace of the command that caused it. */
  note(update: Update): void;
  /** Decoding has ended, successfully or not. */
  decoded(frames: number, bytes: number, error: IndexerError | undefined): void;
  /** @param lane number of writes running before this one */
  writing(lane: number): void;
  /** The batch is committed, or failed. */
  done(batch: Batch, error?: IndexerError): void;
}

export interface Tracer {
  /** @param from the offset after which the batch begins; that of the seed for active contracts */
  batch(stream: 'updates' | 'active_contracts', from: number): BatchSpan;
  /** Ends spans of batches that will not be written, because the session is over. */
  abandon(): void;
  /** Begins the span of a seed. Call the result at the end of the seed, with its offset if it was published. */
  seed(): (offset: number | undefined, error: IndexerError | undefined) => void;
}

/** The same observable, traced as one seed. */
export function tracedSeed$(
  tracer: Tracer | undefined,
  seed$: Observable<number | undefined>,
): Observable<number | undefined> {
  if (tracer === undefined) return seed$;
  return defer(() => {
    const end = tracer.seed();
    let published: number | undefined;
    let failure: IndexerError | undefined;
    return seed$.pipe(
      tap({
        next: (offset) => {
          published = offset;
        },
        error: (thrown) => {
          failure = toIndexerError(thrown);
        },
      }),
      finalize(() => {
        tracer.abandon();
        end(published, failure);
      }),
    );
  });
}
