/**
 * Reports the release of the participant and its consequences. They are logged once, and again when they change,
 * because every session reads the release.
 */
import type { ReleaseFacts, ReleaseObserver } from '../../pipeline/ports/observer.ts';
import type { Logger } from './logger.ts';

const missingContractsRemedy =
  'run `ledger-indexer verify --acs`; if it finds contracts missing: ledger-indexer reseed --yes';

export class ReleaseReport implements ReleaseObserver {
  readonly #logger: Logger;
  #reported: string | undefined;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  found(facts: ReleaseFacts): void {
    if (facts.kind === 'other') {
      const { version, seedRelease, offset, contracts } = facts;
      const reason = 'continuation tokens of another participant version cannot be used';
      this.#logger.warn(
        { version, seedRelease, offset, contracts, reason },
        'the seed restarts: the participant was upgraded',
      );
      return;
    }
    const factsKey = JSON.stringify(facts);
    if (factsKey === this.#reported) return;
    this.#reported = factsKey;
    this.#session(facts);
  }

  #session({
    version,
    isKnown: isKnownRelease,
    lacking: missingSeed,
  }: Extract<ReleaseFacts, { readonly kind: 'read' }>): void {
    if (isKnownRelease) this.#logger.info({ version }, 'release of the participant');
    else {
      const remedy =
        'allow GET /v2/version in gateways before the participant: since release 3.7, lists of active contracts ' +
        'omit reassignments in flight unless they are requested';
      this.#logger.warn(
        { version, remedy },
        'the participant release cannot be read: sending requests for releases before 3.7',
      );
    }
    if (missingSeed === undefined) return;
    this.#logger.warn(
      { ...missingSeed, version, remedy: missingContractsRemedy },
      'contracts in reassignment during the seed may be missing: the request did not include them',
    );
  }
}
