/** Tracing whose failures are its own: an SDK with its processors is other people's code, and worth less than the stream. */
import type { Tracer } from '../../pipeline/ports/tracer.ts';

/** The same tracer, which never throws. @param onFailure told of what was thrown; must not throw */
export function harmless(tracer: Tracer, onFailure: (thrown: unknown) => void): Tracer {
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (thrown) {
      onFailure(thrown);
      return undefined;
    }
  };
  return {
    batch: (stream, from) => {
      const span = attempt(() => tracer.batch(stream, from));
      return {
        note: (update) => attempt(() => span?.note(update)),
        decoded: (frames, bytes, error) => attempt(() => span?.decoded(frames, bytes, error)),
        writing: (lane) => attempt(() => span?.writing(lane)),
        done: (batch, error) => attempt(() => span?.done(batch, error)),
      };
    },
    abandon: () => attempt(() => tracer.abandon()),
    seed: () => {
      const end = attempt(() => tracer.seed());
      return (offset, error) => attempt(() => end?.(offset, error));
    },
  };
}
