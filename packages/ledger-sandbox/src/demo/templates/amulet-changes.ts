/** Locked Amulet that a choice locks again, in parts or with another lock, and the registry's log of that change. */
import { log } from '../registry/holdings-change.ts';
import { basicAccount } from '../registry/accounts.ts';
import { asText } from '../../wire/json.ts';
import type { ChoiceContext } from '../../contracts/model.ts';
import { consume, payOut } from './funds.ts';
import type { MovedFunds, Output } from './funds.ts';
import { amulet } from './instruments.ts';
import { contextValue } from './metadata.ts';

/** The latest time that a contract can compare with another one: the end of locks without an end. */
export const never = '9999-12-31T23:59:59.999998Z';
/** The latest time of the language. */
export const endOfTime = '9999-12-31T23:59:59.999999Z';

/** A change of the Amulet of one owner. */
interface AmuletChange {
  readonly admin: string;
  readonly owner: string;
  /** Ids of Amulets, free or locked. */
  readonly inputs: readonly string[];
  readonly outputs: readonly Output[];
  readonly reason: string;
}

/** Archives the inputs and creates the outputs. The remainder is the change, which is free. */
export function replaceAmulets(
  context: ChoiceContext,
  { admin, owner, inputs, outputs, reason }: AmuletChange,
): MovedFunds {
  const taken = consume(context, inputs, owner);
  const moved = payOut(context, amulet, { admin, sender: owner, outputs }, taken);
  const rules = asText(contextValue(context.argument['extraArgs'], 'external-party-config-state'));
  if (rules !== '') {
    const change = { account: basicAccount(owner), inputs, outputs: [...moved.made, moved.change], reason };
    log({ context, admin, rules }, change);
  }
  return moved;
}

/** An API timestamp as microseconds since 1970, exact until the year 2255. */
export function microsOf(timestamp: string): number {
  const fraction = /\.(\d+)Z$/.exec(timestamp)?.[1] ?? '';
  return Date.parse(`${timestamp.slice(0, 19)}Z`) * 1000 + Number(fraction.padEnd(6, '0'));
}
