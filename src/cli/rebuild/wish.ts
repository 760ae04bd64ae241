/** What a rebuild is asked for, and by what it is known when it is asked for again. */
import type { Config } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { StreamFacts } from '../../store/history/maintenance.ts';
import type { Beside } from '../../store/swap/places.ts';

/** What is asked for. */
export interface Wish {
  readonly config: Config;
  /** What takes the place of the live storage. */
  readonly beside: Beside;
  readonly start: PipelineParts['start'];
  readonly noSwap: boolean;
  /** The database it is handed over to; undefined: it takes its place in the same. */
  readonly into?: Into | undefined;
}

/** Another database. */
export interface Into {
  /** Holds a password. */
  readonly url: string;
  readonly urlFile: string | undefined;
  /** As `placeOf` names it. */
  readonly place: string;
}

/** Part of what a rebuild is known by: asked for again with the same, it goes on. */
export function wantedOf({ config, beside, start, into }: Wish, ours: StreamFacts, exerciseJson: string): Wanted {
  const { hash } = filterFingerprint(config.ledger);
  return beside === 'previous'
    ? { rollback: true, filter: hash, shape: config.ledger.shape }
    : {
        rollback: false,
        filter: hash,
        shape: config.ledger.shape,
        exerciseJson,
        start,
        participant: ours.participantId,
        ...(into === undefined ? {} : { into: into.place }),
      };
}

/** As JSON in table `jobs`. */
export type Wanted = Readonly<Record<string, string | number | boolean | null>>;
