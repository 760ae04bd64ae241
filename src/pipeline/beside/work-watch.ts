/** What was asked for beside the stream is looked at for as long as the process lives, whoever does it and whatever the stream does. */
import type { PipelineParts } from '../ports/parts.ts';
import { pause } from '../retry/retry.ts';

const lookEveryMs = 2_000;

/** Tells the observer again and again until a stop is asked for. Never rejects: where Postgres does not answer the stream says so. */
export async function tellOfWorks({ sink, observer, stop }: PipelineParts): Promise<void> {
  while (!stop.aborted) {
    const works = await sink.works().catch(() => undefined);
    if (works !== undefined) observer.worksSeen(works);
    await pause(lookEveryMs, stop);
  }
}
