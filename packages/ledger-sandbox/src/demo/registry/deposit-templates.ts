/** Deposits of a bank in two currencies: a registry of both versions of the token standard. */
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import type { Template } from '../../contracts/model.ts';
import { burnAccount, mintAccount, ownerOf } from './accounts.ts';
import { createHolding, legSide, log, units } from './holdings-change.ts';
import { registryTemplates } from './registry-templates.ts';
import type { Registry, Reservation, Shape } from './registry.ts';
import { emptyMetadata, reasonMeta } from '../templates/metadata.ts';
import { names } from '../templates/names.ts';

function allocationShape(template: string): Shape<Reservation> {
  return {
    template,
    write: (reservation) => ({
      setAside: { ...reservation, holdingCids: [...reservation.holdingCids], meta: emptyMetadata },
    }),
    read: (payload) => {
      const { settlement, allocation, holdingCids, requestedAt, allocateBefore } = asObject(payload['setAside']) ?? {};
      return {
        settlement: asObject(settlement) ?? {},
        allocation: asObject(allocation) ?? {},
        holdingCids: asTexts(holdingCids),
        requestedAt: asText(requestedAt),
        allocateBefore: asText(allocateBefore) || null,
      };
    },
  };
}

/** Names of the templates of this registry, and the shapes of their payloads. */
export const depositRegistry: Registry = {
  rules: names.depositRules,
  rulesKey: 'deposit-rules',
  holding: { template: names.deposit, write: (view) => view, read: (payload) => payload },
  transfer: {
    template: names.depositTransfer,
    write: ({ admin: bank, transfer }) => ({ bank, transfer }),
    read: ({ bank, transfer }) => ({ admin: asText(bank), transfer: asObject(transfer) ?? {} }),
  },
  allocation: allocationShape(names.depositAllocation),
  allocationV1: allocationShape(names.depositLegAllocation),
  locksAlways: false,
  callsVersion1: true,
};

const ownRules: Template['choices'] = {
  DepositRules_Mint: {
    consuming: false,
    controllers: (payload) => [asText(payload['admin'])],
    run: (context) => {
      const { account = null, currency, amount, reason } = context.argument;
      const admin = asText(context.contract.createArgument['admin']);
      const registryContext = { context, registry: depositRegistry, admin, rules: context.contract.contractId };
      const newHolding = createHolding(registryContext, account, asText(currency), units(amount)) ?? '';
      const leg = { amount: asText(amount), instrumentId: asText(currency), meta: reasonMeta(asText(reason)) };
      log(registryContext, {
        account,
        inputs: [],
        sides: [legSide('ReceiverSide', leg, mintAccount)],
        outputs: [newHolding],
      });
      return { depositCid: newHolding };
    },
  },
};

const ownDeposits: Template['choices'] = {
  Deposit_PayOut: {
    consuming: true,
    controllers: (payload) => [ownerOf(payload['account'])],
    run: (context) => {
      const { contractId, createArgument: payload } = context.contract;
      const { account = null, amount } = payload;
      const instrumentId = textAt(payload, 'instrumentId', 'id');
      const { rules, reason } = context.argument;
      const admin = textAt(payload, 'instrumentId', 'admin');
      const registryContext = { context, registry: depositRegistry, admin, rules: asText(rules) };
      const leg = { amount: asText(amount), instrumentId, meta: reasonMeta(asText(reason)) };
      const legSides: JsonObject[] = [legSide('SenderSide', leg, burnAccount)];
      log(registryContext, { account, inputs: [contractId], sides: legSides, outputs: [] });
      return {};
    },
  },
};

/** The templates of deposits. */
export function depositTemplates(): Template[] {
  return registryTemplates(depositRegistry, { rules: ownRules, holding: ownDeposits });
}
