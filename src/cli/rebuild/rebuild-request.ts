/** The request of a rebuild, and its identity, by which the same request resumes. */
import type { Config } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { OtherSchema } from '../../store/swap/stream-schemas.ts';

/** A requested rebuild. */
export interface RebuildRequest {
  readonly config: Config;
  /** The schema that replaces the live one. */
  readonly replacement: OtherSchema;
  readonly start: PipelineParts['start'];
  readonly noSwap: boolean;
  /** The database to hand over to; undefined: the same database. */
  readonly into?: Into | undefined;
}

/** Another database. */
export interface Into {
  /** Contains a password. */
  readonly url: string;
  readonly urlFile: string | undefined;
  /** As named by `placeOf`. */
  readonly label: string;
}

/** Part of the identity of a rebuild: the same request resumes it. */
export function requestIdentity(
  { config, replacement, start, into }: RebuildRequest,
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
        ...(into === undefined ? {} : { into: into.label }),
      };
}

/** As JSON in table `jobs`. */
export type ParsedRequest = Readonly<Record<string, string | number | boolean | null>>;
