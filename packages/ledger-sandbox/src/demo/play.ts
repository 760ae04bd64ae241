/** Steps of the demo on a ledger: one update each, and sometimes offsets without a visible update. */
import { LedgerFailure } from '../wire/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Random } from '../wire/random.ts';
import type { SavedRandom } from '../wire/random.ts';
import { isLicensingUpgraded, upgradeLicensing } from './templates/licensing-templates.ts';
import { Market } from './market/market.ts';
import type { MarketOptions, SavedMarket } from './market/market.ts';

/** A play as stored in a snapshot. */
export interface SavedPlay {
  readonly random: SavedRandom;
  readonly market: SavedMarket;
  readonly upgraded: boolean;
}

export class TrafficPlay {
  readonly #ledger: Ledger;
  readonly #options: MarketOptions;
  readonly #random: Random;
  #market: Market;

  constructor(ledger: Ledger, options: MarketOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#random = new Random(options.seed + 1);
    this.#market = new Market(ledger, options);
  }

  get market(): Market {
    return this.#market;
  }

  save(): SavedPlay {
    return {
      random: this.#random.save(),
      market: this.#market.save(),
      upgraded: isLicensingUpgraded(this.#ledger.model),
    };
  }

  load({ random, market, upgraded }: SavedPlay): void {
    this.#random.load(random);
    this.#market.load(market);
    if (upgraded) upgradeLicensing(this.#ledger.model);
  }

  /**
   * Makes the next update. The market tracks its contracts itself. If a client ended one of them, or reset the ledger,
   * the market begins again without contracts instead of ending the process.
   * @param at effective time, microseconds since 1970
   */
  step(at: number): void {
    if (this.#random.chance(0.08)) this.#ledger.skipOffsets(this.#random.between(1, 4));
    try {
      this.#market.step(at);
    } catch (error) {
      if (!(error instanceof LedgerFailure) || error.body['code'] !== 'CONTRACT_NOT_FOUND') throw error;
      this.#market = new Market(this.#ledger, this.#options);
      this.#market.step(at);
    }
  }

  /** The same, with a record time: the effective time is 0.2 to 1.5 s before it. */
  stepRecordedAt(recordedAt: number): void {
    const delay = this.#random.between(200_000, 1_500_000);
    this.#ledger.recordDelay = delay;
    try {
      this.step(recordedAt - delay);
    } finally {
      this.#ledger.recordDelay = undefined;
    }
  }
}
