/** Prices of an Amulet in USD. */
import { amuletPrice } from './templates/holding-templates.ts';

/** The price, as a Numeric 10, by the number of a round. */
export type Prices = (round: number) => string;

/** Number of the first round of a demo. */
export const firstRound = 17_719;

/** The same price in all rounds, which is enough for a demo without fees. */
export const constantPrice: Prices = () => amuletPrice;

/** Prices that rise and fall: a slow wave, and a fast one. The same round always has the same price. */
export const changingPrice: Prices = (round) => {
  const age = round - firstRound;
  const factor = 1 + 0.3 * Math.sin(age / 70) + 0.08 * Math.sin(age / 3.7);
  return `${(Number(amuletPrice) * factor).toFixed(6)}0000`;
};
