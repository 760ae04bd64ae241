/** The request of a rebuild, and its identity: requesting the same rebuild again resumes it. */
import type { Config } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { OtherSchema } from '../../store/swap/stream-schemas.ts';

/** A requested rebuild. */
export interface RebuildRequest {
  readonly config: Config;
  /** Which schema replaces the live one. */
  readonly replacement: OtherSchema;
  readonly start: PipelineParts['start'];
  readonly noSwap: boolean;
  /** The database to hand over to; undefined if the rebuild stays in the same database. */
  readonly into?: TargetAddress | undefined;
}

/** The database that a rebuild hands over to. */
export interface TargetAddress {
  /** URL with a password. */
  readonly url: string;
  readonly urlFile: string | undefined;
  /** Label of the database, see `databaseLabel`. */
  readonly label: string;
}

/** The identity of a rebuild, by which the same request resumes it. */
export function requestIdentity(
  { config, replacement, start, into: targetAddress }: RebuildRequest,
  stream: StreamFacts,
  exerciseJson: string,
): ParsedRequest {
  const { hash } = filterFingerprint(config.ledger);
  return replacement === 'previous'
    ? { rollback: true, filter: hash, shape: config.ledger.shape }
    : {
        rollback: false,
        filter: hash,
        shape: config.ledger.shape,
        exerciseJson,
        start,
        participant: stream.participantId,
        ...(targetAddress === undefined ? {} : { into: targetAddress.label }),
      };
}

/** The identity as stored in table `jobs`. */
export type ParsedRequest = Readonly<Record<string, string | number | boolean | null>>;
