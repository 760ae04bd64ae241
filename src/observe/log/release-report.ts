/** Reports the release of the participant and what follows from it; once for as long as it is the same, for every session reads it. */
import type { ReleaseFacts, ReleaseObserver } from '../../pipeline/ports/observer.ts';
import type { Logger } from './logger.ts';

const mendLacking = 'run `ledger-indexer verify --acs`; if it finds contracts missing: ledger-indexer reseed --yes';

export class ReleaseReport implements ReleaseObserver {
  readonly #logger: Logger;
  #reported: string | undefined;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  found(facts: ReleaseFacts): void {
    if (facts.kind === 'other') {
      const { version, seedRelease, offset, contracts } = facts;
      const reason = 'continuation tokens of another version of the participant are of no use';
      this.#logger.warn(
        { version, seedRelease, offset, contracts, reason },
        'the seed starts over: the participant was upgraded',
      );
      return;
    }
    const found = JSON.stringify(facts);
    if (found === this.#reported) return;
    this.#reported = found;
    this.#session(facts);
  }

  #session({ version, isKnown, lacking }: Extract<ReleaseFacts, { readonly kind: 'read' }>): void {
    if (isKnown) this.#logger.info({ version }, 'release of the participant');
    else {
      const remedy =
        'let gateways between here and the participant pass GET /v2/version: from release 3.7 on lists of active contracts ' +
        'leave out reassignments in flight unless they are requested';
      this.#logger.warn(
        { version, remedy },
        'the release of the participant cannot be read: requests are those of releases before 3.7',
      );
    }
    if (lacking === undefined) return;
    this.#logger.warn(
      { ...lacking, version, remedy: mendLacking },
      'contracts that were being reassigned when the stream was seeded may be missing: the list was not requested with them',
    );
  }
}
