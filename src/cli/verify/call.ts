/** The parameters of comparisons with the ledger, and a comparison that they share: package names. */
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import type { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { Snapshot } from '../../store/verify/snapshot.ts';
import { storedPackageNames } from '../../store/verify/stored-updates.ts';
import type { ListCall } from '../ledger/complete-reads.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { PackageName } from '../../ledger/frames/plain-frame.ts';
import type { Finding } from './result.ts';

export interface VerifyCall extends ListCall {
  readonly snapshot: Snapshot;
  /** The filter under which the data is stored. */
  readonly filter: LedgerFilter;
  /** Set if the stream was switched to this participant. Requests to it use the participant's own offsets. */
  readonly participantOffsets: ParticipantOffsets | undefined;
  /** Called with the number of entries read. */
  progress(label: string, readCount: number): void;
}

/**
 * All frames of a read that has an end. They are counted for the progress line.
 * @throws IndexerError INTERRUPTED if the read is stopped before its end; LEDGER_STREAM_TRUNCATED if it cannot be
 * verified as complete
 */
export async function* readToEnd<T>(
  call: VerifyCall,
  path: '/v2/updates' | '/v2/state/active-contracts',
  batches: AsyncIterable<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  let readCount = 0;
  for await (const batch of batches) {
    yield batch;
    readCount += batch.length;
    call.progress(path, readCount);
  }
  if (!call.stop.aborted) return;
  throw new IndexerError('the comparison was interrupted', {
    code: 'INTERRUPTED',
    exitCode: ExitCode.undecided,
    remedy: 'run `ledger-indexer verify` again',
  });
}

// Compares the package names in the ledger's events with the dictionary, because a package has only one name.

export class PackageNames {
  readonly #byTemplate = new Map<string, Set<string>>();

  add({ template, packageName }: PackageName): void {
    if (template === null || packageName === null) return;
    const names = this.#byTemplate.get(template);
    if (names === undefined) this.#byTemplate.set(template, new Set([packageName]));
    else names.add(packageName);
  }

  /**
   * Templates that have another package name here. Templates that are not stored are reported with their missing rows.
   */
  async differences({ client }: Snapshot): Promise<readonly Finding[]> {
    const packageNames = await storedPackageNames(client);
    return [...this.#byTemplate].flatMap(([template, names]): readonly Finding[] => {
      const name = packageNames.get(template);
      if (name === undefined || (name !== null && names.has(name))) return [];
      return [{ type: 'different', row: `template ${template}`, fields: ['package_name'] }];
    });
  }
}

// Conversion between offsets of the stream and offsets of the participant.

/**
 * The offset of the stream up to which (inclusive) the participant returns no updates, because they are pruned or from
 * another participant.
 */
export async function updatesAvailableAfter({ client, participantOffsets }: VerifyCall): Promise<number> {
  const pruned = await client.state.latestPrunedOffsets();
  return participantOffsets === undefined
    ? pruned
    : Math.max(participantOffsets.from, participantOffsets.toStreamOffset(pruned));
}

/** Converts an offset of the stream to that of the participant. */
export function toParticipantOffset({ participantOffsets }: VerifyCall, offset: number): number {
  return participantOffsets?.toParticipantOffset(offset) ?? offset;
}
