/** Holdings of every instrument, free and locked, with their Holding view and the choices that end them. */
import { asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import { amulet, bond, stableCoin } from './instruments.ts';
import type { InstrumentV1 } from './instruments.ts';
import { kindMeta, emptyMetadata } from './metadata.ts';
import { interfaces, interfacesV2, names } from './names.ts';
import { basicAccount } from '../registry/accounts.ts';

/** Usual price of an Amulet in USD. A round or another contract may determine another one. */
export const amuletPrice = '0.0050000000';

/** Price of an Amulet in USD, according to a round or to the contract that replaces it; usual price without one. */
export function priceOf({ fetch }: Pick<ChoiceContext, 'fetch'>, contractId: string): string {
  return contractId === '' ? amuletPrice : asText(fetch(contractId).createArgument['amuletPrice']);
}

function holdingView(instrument: InstrumentV1, payload: JsonObject): JsonObject {
  const { admin, owner, amount, lock } = instrument.read(payload);
  return { owner, instrumentId: { admin, id: instrument.id }, amount, lock, meta: emptyMetadata };
}

/** The view of version 2, in which an account takes the place of the owner. */
function holdingViewV2(instrument: InstrumentV1, payload: JsonObject): JsonObject {
  const { owner, ...fields } = holdingView(instrument, payload);
  return { account: basicAccount(asText(owner)), ...fields };
}

function holdersOf(instrument: InstrumentV1, payload: JsonObject): string[] {
  const { admin, owner, lock } = instrument.read(payload);
  return [...new Set([admin, owner, ...asTexts(lock?.['holders'])])];
}

function holdingTemplate(
  instrument: InstrumentV1,
  name: string,
  choices: Template['choices'],
  optionals: readonly string[] = [],
): Template {
  return {
    name,
    signatories: (payload) => holdersOf(instrument, payload),
    observers: () => [],
    interfaces: [{ name: interfaces.holding, view: (payload) => holdingView(instrument, payload) }],
    choices,
    optionals,
  };
}

const owner = (payload: JsonObject): string[] => [asText(payload['owner'])];
const dso = (payload: JsonObject): string[] => [asText(payload['dso'])];
const registrar = (payload: JsonObject): string[] => [asText(payload['registrar'])];

/** Ends dust that is worth less than its holding fees, without a payment. */
const expireDust: Choice = {
  consuming: true,
  controllers: dso,
  run: ({ contract: { createArgument: payload }, argument, fetch }): Json => {
    const round = fetch(asText(argument['roundCid'])).createArgument['round'] ?? null;
    const { owner: holdingOwner, amount } = amulet.read(payload);
    const lostAmount = formatNumeric(-(parseNumeric(amount) ?? 0n));
    return {
      expireSum: {
        owner: holdingOwner,
        round,
        changeToInitialAmountAsOfRoundZero: lostAmount,
        changeToHoldingFeesRate: formatNumeric(0n),
      },
      meta: kindMeta('expire-dust'),
    };
  },
};

function unlockChoice(controllers: Choice['controllers']): Choice {
  return {
    consuming: true,
    controllers,
    run: (context): Json => {
      const { contract, argument, create } = context;
      const { admin, owner: holdingOwner, amount, round } = amulet.read(contract.createArgument);
      const price = priceOf(context, asText(argument['openRoundCid']));
      const freeHolding = create(amulet.holding, amulet.free({ admin, owner: holdingOwner, amount, round }));
      return {
        amuletSum: { amulet: freeHolding, amuletPrice: price, round: { number: round } },
        meta: kindMeta('unlock'),
      };
    },
  };
}

const lockedAmuletChoices = {
  LockedAmulet_Unlock: unlockChoice((payload) => holdersOf(amulet, payload)),
  LockedAmulet_OwnerExpireLock: unlockChoice((payload) => [textAt(payload, 'amulet', 'owner')]),
};

const bondChoices: Template['choices'] = {
  BondHolding_PayCoupon: {
    consuming: false,
    controllers: registrar,
    run: ({ contract: { createArgument: payload }, argument }): Json => {
      const rate = BigInt(asText(argument['rate']).replace('.', ''));
      return { paid: formatNumeric(((parseNumeric(asText(payload['amount'])) ?? 0n) * rate) / 10_000n) };
    },
  },
  BondHolding_Redeem: { consuming: true, controllers: owner, run: () => ({}) },
};

/** Locked Amulet has views of both versions, because allocations of both versions contain it. */
function lockedAmuletTemplate(): Template {
  const version1 = holdingTemplate(amulet, names.lockedAmulet, lockedAmuletChoices);
  const view = (payload: JsonObject): JsonObject => holdingViewV2(amulet, payload);
  return { ...version1, interfaces: [...version1.interfaces, { name: interfacesV2.holding, view }] };
}

/** The templates of holdings. */
export function holdingTemplates(): Template[] {
  const burn = { Token_Burn: { consuming: true, controllers: owner, run: (): Json => ({}) } };
  return [
    holdingTemplate(amulet, amulet.holding, { Amulet_Expire: expireDust }),
    lockedAmuletTemplate(),
    holdingTemplate(stableCoin, stableCoin.holding, burn),
    holdingTemplate(bond, bond.holding, bondChoices, ['lock']),
  ];
}
