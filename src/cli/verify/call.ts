/** What comparisons with the ledger work with, and the one they have in common: what packages are called. */
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import type { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { storedPackageNames } from '../../store/verify/stored-updates.ts';
import type { ReadCall } from '../ledger/whole-reads.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { PackageName } from '../../ledger/frames/plain-frame.ts';
import type { Finding } from './result.ts';

export interface VerifyCall extends ReadCall {
  readonly snapshot: Snapshot;
  /** The filter the tables were filled with. */
  readonly filter: LedgerFilter;
  /** Set where the stream was switched to this participant: whatever is asked of it has its own offsets. */
  readonly participantOffsets: ParticipantOffsets | undefined;
  /** Told how many entries were read so far. */
  progress(what: string, read: number): void;
}

/**
 * All of a read that ends by itself, counted for whoever waits.
 * @throws IndexerError INTERRUPTED when stopped before its end; LEDGER_STREAM_TRUNCATED when it is not proven complete
 */
export async function* whole<T>(
  call: VerifyCall,
  path: '/v2/updates' | '/v2/state/active-contracts',
  reading: AsyncIterable<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  let read = 0;
  for await (const some of reading) {
    yield some;
    read += some.length;
    call.progress(path, read);
  }
  if (!call.stop.aborted) return;
  throw new IndexerError('the comparison was interrupted before its end', {
    code: 'INTERRUPTED',
    exitCode: ExitCode.undecided,
    remedy: 'run `ledger-indexer verify` again',
  });
}

// What the ledger's events call the packages of their templates, against the dictionary: a package has one name.

export class PackageNames {
  readonly #byTemplate = new Map<string, Set<string>>();

  add({ template, packageName }: PackageName): void {
    if (template === null || packageName === null) return;
    const names = this.#byTemplate.get(template);
    if (names === undefined) this.#byTemplate.set(template, new Set([packageName]));
    else names.add(packageName);
  }

  /** Templates that are named otherwise here. One that is not here at all is missed with its rows. */
  async differences({ client }: Snapshot): Promise<readonly Finding[]> {
    const stored = await storedPackageNames(client);
    return [...this.#byTemplate].flatMap(([template, names]): readonly Finding[] => {
      const name = stored.get(template);
      if (name === undefined || (name !== null && names.has(name))) return [];
      return [{ type: 'different', row: `template ${template}`, fields: ['package_name'] }];
    });
  }
}

// Offsets of the stream, and the participant's own.

/** Up to where the participant shows no updates any more (inclusive), in offsets of the stream: what is pruned, or of another one. */
export async function shownAfter({ client, participantOffsets }: VerifyCall): Promise<number> {
  const pruned = await client.state.latestPrunedOffsets();
  return participantOffsets === undefined ? pruned : Math.max(participantOffsets.from, participantOffsets.ours(pruned));
}

/** The participant's own offset. */
export function theirs({ participantOffsets }: VerifyCall, offset: number): number {
  return participantOffsets?.theirs(offset) ?? offset;
}
