/** What an indexer answers at `/status`. */
import type { StatusDocument } from '../../observe/health/health-tracker.ts';

const limitMs = 2_000;

/** Undefined when nobody answers there, or somebody who is no indexer. @param url base address */
export async function askIndexer(url: string): Promise<StatusDocument | undefined> {
  try {
    const answer = await fetch(`${url}/status`, { signal: AbortSignal.timeout(limitMs) });
    const status = (await answer.json()) as Partial<StatusDocument>;
    return answer.ok && typeof status.state === 'string' ? (status as StatusDocument) : undefined;
  } catch {
    return undefined;
  }
}
