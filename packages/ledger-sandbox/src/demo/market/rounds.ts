/** Mining rounds: three are open at a time; with every new one rewards are handed out and collected. */
import type { Command } from '../../ledger/commands.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { closedRoundPayload, openRoundPayload } from '../templates/amulet-templates.ts';
import { amountOf, patience } from './chance.ts';
import type { MarketState } from './market-state.ts';
import { names } from '../templates/names.ts';
import type { Tempo } from './tempo.ts';

const second = 1_000_000;
const tick = 600 * second;
/** Number of the first round of a demo. */
const firstRound = 17_719;
/** Medians of the coupons of an application and of a validator, in Amulet. */
const appCoupon = 60;
const validatorCoupon = 25;
/** Share of the parties that collect their rewards in the round they were given them. */
const promptShare = 0.35;
/** Closed rounds that are not archived yet. */
const keptClosed = 2;

function create(template: string, argument: ReturnType<typeof openRoundPayload>): Command {
  return { kind: 'create', templateId: `#${template}`, argument };
}

function archive(contractId: string): Command {
  return { kind: 'exercise', contractId, choice: 'Archive', argument: {} };
}

/** Opens the first three rounds. */
export function openRounds(state: MarketState, at: number): boolean {
  const { dso } = state.people;
  const commands = [0, 1, 2].map((index) =>
    create(
      names.openRound,
      openRoundPayload({
        dso,
        number: firstRound + index,
        opensAt: formatTimestamp(at + index * tick),
        targetClosesAt: formatTimestamp(at + (index + 2) * tick),
      }),
    ),
  );
  state.submit([dso], commands, { at });
  return true;
}

/** Opens a round, closes the oldest, and hands out rewards; then the next one is due. */
export function advance(state: MarketState, tempo: Tempo, at: number): boolean {
  const { dso } = state.people;
  const { agenda, rounds } = state;
  const oldest = rounds[0];
  const number = (rounds.at(-1)?.number ?? firstRound) + 1;
  agenda.add(at + tempo(at).roundGap, { what: 'advance-rounds' });
  if (oldest === undefined || state.payload(oldest.contractId) === undefined) return openRounds(state, at);
  const forgotten = state.closedRounds.splice(0, Math.max(0, state.closedRounds.length - keptClosed));
  const opensAt = formatTimestamp(at);
  const targetClosesAt = formatTimestamp(at + 2 * tick);
  state.submit(
    [dso],
    [
      ...[oldest.contractId, ...forgotten].map(archive),
      create(names.closedRound, closedRoundPayload(dso, oldest.number)),
      create(names.openRound, openRoundPayload({ dso, number, opensAt, targetClosesAt })),
    ],
    { at, workflowId: 'round' },
  );
  agenda.add(at + 3 * second, { what: 'hand-out-rewards', round: number });
  return true;
}

/** One coupon for every application and validator; some collect soon, others later with more of them. */
export function handOut(state: MarketState, number: number, at: number): boolean {
  const { people, random, agenda } = state;
  const round = { number: String(number) };
  const ofApps = people.apps.map((provider, index) => {
    const amount = formatNumeric(amountOf(random, appCoupon));
    return create(names.appRewardCoupon, { dso: people.dso, provider, featured: index < 2, amount, round });
  });
  const ofValidators = people.validators.map((user) => {
    const amount = formatNumeric(amountOf(random, validatorCoupon));
    return create(names.validatorRewardCoupon, { dso: people.dso, user, amount, round });
  });
  state.submit([people.dso], [...ofApps, ...ofValidators], { at, workflowId: 'rewards' });
  for (const party of [...people.apps, ...people.validators]) {
    if (!random.chance(promptShare)) continue;
    agenda.add(at + patience(random, 15), { what: 'collect-rewards', party });
  }
  return true;
}
