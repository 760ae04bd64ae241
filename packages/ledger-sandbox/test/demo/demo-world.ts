/** Computes sums and counts from the history of a demo ledger. */
import { demoWorld } from '../../src/demo/sandbox.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { parseNumeric } from '../../src/wire/values.ts';
import type { CreatedEvent, ExercisedEvent, Transaction } from '../../src/wire/wire.ts';
import { instrumentOf } from '../../src/demo/templates/instruments.ts';
import { nameOf } from '../../src/demo/templates/funds.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { valueAt } from '../server/sockets.ts';

/** A ledger with this many updates of the demo, two seconds apart. */
export function playedLedger(updates: number, seed = 11): Ledger {
  const ledger = new Ledger(demoWorld(), { seed });
  generateHistory(ledger, { seed, updates, gapMs: 2_000 });
  return ledger;
}

export function transactionsOf(ledger: Ledger): Transaction[] {
  return ledger
    .range(0, ledger.ledgerEnd(), Infinity)
    .flatMap(({ update }) => (update !== undefined && 'Transaction' in update ? [update.Transaction.value] : []));
}

export function createsOf(transactions: readonly Transaction[]): CreatedEvent[] {
  return transactions.flatMap(({ events }) => events.flatMap((e) => ('CreatedEvent' in e ? [e.CreatedEvent] : [])));
}

export function exercisesOf(transactions: readonly Transaction[]): ExercisedEvent[] {
  return transactions.flatMap(({ events }) => events.flatMap((e) => ('ExercisedEvent' in e ? [e.ExercisedEvent] : [])));
}

/** Number of exercises of each choice. */
export function choiceCounts(transactions: readonly Transaction[]): (choice: string) => number {
  const counts = new Map<string, number>();
  for (const { choice } of exercisesOf(transactions)) counts.set(choice, (counts.get(choice) ?? 0) + 1);
  return (choice) => counts.get(choice) ?? 0;
}

const units = (amount: unknown): bigint => parseNumeric(String(amount)) ?? 0n;

/** Sums by instrument, in units of 10^-10. */
export type AmountsByInstrument = Map<string, bigint>;

function add(sums: AmountsByInstrument, instrument: string, amount: bigint): void {
  sums.set(instrument, (sums.get(instrument) ?? 0n) + amount);
}

/** Amounts of all holdings, free and locked ones, including those in flight between synchronizers. */
export function holdingSums(ledger: Ledger): AmountsByInstrument {
  const sums: AmountsByInstrument = new Map();
  for (const { activation } of ledger.activeAt(ledger.ledgerEnd())) {
    const instrument = instrumentOf(nameOf(activation.created), activation.created.createArgument);
    if (instrument === undefined) continue;
    add(sums, instrument.id, units(instrument.read(activation.created.createArgument).amount));
  }
  return sums;
}

/** Mints minus burns, computed from the choices that mint and burn. */
export function issuedSums(transactions: readonly Transaction[]): AmountsByInstrument {
  const sums: AmountsByInstrument = new Map();
  const payloads = new Map(
    createsOf(transactions).map((createdEvent) => [createdEvent.contractId, createdEvent.createArgument]),
  );
  const bonds = 'XS2931000017';
  for (const { choice, choiceArgument, exerciseResult, contractId } of exercisesOf(transactions)) {
    const payload = payloads.get(contractId);
    const amount = units(valueAt(payload, 'amount'));
    if (choice === 'AmuletRules_Mint') add(sums, 'Amulet', units(valueAt(choiceArgument, 'amount')));
    if (choice === 'AmuletRules_Transfer') {
      for (const kind of ['App', 'Validator', 'Sv'])
        add(sums, 'Amulet', units(valueAt(exerciseResult, 'summary', `input${kind}RewardAmount`)));
      add(sums, 'Amulet', units(valueAt(exerciseResult, 'summary', 'inputDevelopmentFundAmount')));
    }
    if (choice === 'TransferFactory_Transfer')
      add(sums, 'Amulet', -units(valueAt(exerciseResult, 'meta', 'values', 'splice.lfdecentralizedtrust.org/burned')));
    if (choice === 'AmuletRules_BuyMemberTraffic') add(sums, 'Amulet', -units(valueAt(exerciseResult, 'amuletPaid')));
    if (choice === 'Amulet_Expire') add(sums, 'Amulet', -units(valueAt(payload, 'amount', 'initialAmount')));
    if (choice === 'Mint') add(sums, 'EURX', amount);
    if (choice === 'Token_Burn') add(sums, 'EURX', -amount);
    if (choice === 'DepositRules_Mint')
      add(sums, String(valueAt(choiceArgument, 'currency')), units(valueAt(choiceArgument, 'amount')));
    if (choice === 'Deposit_PayOut') add(sums, String(valueAt(payload, 'instrumentId', 'id')), -amount);
    if (choice === 'Issue') add(sums, bonds, amount);
    if (choice === 'BondHolding_Redeem') add(sums, bonds, -amount);
  }
  return sums;
}
