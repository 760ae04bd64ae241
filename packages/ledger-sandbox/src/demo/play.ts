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
  readonly planRandom: SavedRandom;
  readonly market: SavedMarket;
  readonly upgraded: boolean;
}

/** Offset of the random seed of planned steps. */
const planSeed = 103;

export class TrafficPlay {
  readonly #ledger: Ledger;
  readonly #options: MarketOptions;
  readonly #random: Random;
  /** The random numbers for planned steps, which do not change those for the other steps. */
  readonly #planRandom: Random;
  #market: Market;

  constructor(ledger: Ledger, options: MarketOptions) {
    this.#ledger = ledger;
    this.#options = options;
    this.#random = new Random(options.seed + 1);
    this.#planRandom = new Random(options.seed + planSeed);
    this.#market = new Market(ledger, options);
  }

  get market(): Market {
    return this.#market;
  }

  save(): SavedPlay {
    return {
      random: this.#random.save(),
      planRandom: this.#planRandom.save(),
      market: this.#market.save(),
      upgraded: isLicensingUpgraded(this.#ledger.model),
    };
  }

  load({ random, planRandom, market, upgraded }: SavedPlay): void {
    this.#random.load(random);
    this.#planRandom.load(planRandom);
    this.#market.load(market);
    if (upgraded) upgradeLicensing(this.#ledger.model);
  }

  /**
   * Makes the next update. The market tracks its contracts itself. If a client ended one of them, or reset the ledger,
   * the market begins again without contracts instead of ending the process.
   * @param at effective time, microseconds since 1970
   */
  step(at: number): void {
    this.#stepWith(this.#randomAt(at), at);
  }

  #randomAt(at: number): Random {
    return this.#market.isPlanned(at) ? this.#planRandom : this.#random;
  }

  #stepWith(random: Random, at: number): void {
    if (random.chance(0.08)) this.#ledger.skipOffsets(random.between(1, 4));
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
    const random = this.#randomAt(recordedAt);
    const delay = random.between(200_000, 1_500_000);
    this.#ledger.recordDelay = delay;
    try {
      this.#stepWith(random, recordedAt - delay);
    } finally {
      this.#ledger.recordDelay = undefined;
    }
  }
}
