/**
 * The interface for tracing batches and seeds. If tracing is off, the pipeline has no tracer and collects no data. No
 * method may throw or block.
 */
import { defer, finalize, tap, type Observable } from 'rxjs';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { Batch } from '../../model/batch.ts';
import type { Update } from '../../model/update.ts';

/** One batch, from its first frame to its commit. */
export interface BatchSpan {
  /** Adds an update to the batch, and a link to the trace of the command that caused it. */
  note(update: Update): void;
  /** Called when decoding has ended, successfully or not. */
  decoded(frames: number, bytes: number, error: IndexerError | undefined): void;
  /** @param lane number of writes that are running before this write */
  writing(lane: number): void;
  /** Called when the batch was committed or has failed. */
  done(batch: Batch, error?: IndexerError): void;
}

export interface Tracer {
  /** @param from the offset after which the batch begins; for active contracts, the offset of the seed */
  batch(stream: 'updates' | 'active_contracts', from: number): BatchSpan;
  /** Ends the spans of batches that will not be written, because the session has ended. */
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
