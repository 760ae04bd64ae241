/** Delivery versus payment: a trade is proposed, accepted, allocated leg by leg, and settled by its venue. */
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { emptyMetadata } from './metadata.ts';
import { interfaces, names } from './names.ts';

/** Senders and receivers of the legs. */
function tradersOf(payload: JsonObject): string[] {
  const legs = Object.values(asObject(payload['transferLegs']) ?? {});
  return [...new Set(legs.flatMap((leg) => [textAt(leg, 'sender'), textAt(leg, 'receiver')]))];
}

function acceptProposal({ contract, argument, create }: ChoiceContext): Json {
  const payload = contract.createArgument;
  const approvers = [...asTexts(payload['approvers']), asText(argument['approver'])];
  const tradeCid = payload['tradeCid'] ?? contract.contractId;
  return create(names.tradeProposal, { ...payload, tradeCid, approvers });
}

function initiateSettlement({ contract, argument, create, time }: ChoiceContext): Json {
  const { venue, transferLegs, tradeCid } = contract.createArgument;
  const { prepareUntil, settleBefore } = argument;
  return create(names.trade, {
    venue: venue ?? null,
    transferLegs: transferLegs ?? {},
    tradeCid: tradeCid ?? contract.contractId,
    createdAt: time,
    prepareUntil: prepareUntil ?? null,
    settleBefore: settleBefore ?? null,
  });
}

const proposal: Template = {
  name: names.tradeProposal,
  signatories: (payload) => asTexts(payload['approvers']),
  observers: (payload) => [...tradersOf(payload), asText(payload['venue'])],
  interfaces: [],
  choices: {
    OTCTradeProposal_Accept: {
      consuming: true,
      controllers: (_, argument) => [asText(argument['approver'])],
      run: acceptProposal,
    },
    OTCTradeProposal_Reject: {
      consuming: true,
      controllers: (_, argument) => [asText(argument['trader'])],
      run: () => ({}),
    },
    OTCTradeProposal_InitiateSettlement: {
      consuming: true,
      controllers: (payload) => [asText(payload['venue'])],
      run: initiateSettlement,
    },
  },
};

/** Ends every allocation in the argument with a choice. Returns the results by leg. */
function endAllocations(context: ChoiceContext, choice: string): JsonObject {
  const { venue, transferLegs } = context.contract.createArgument;
  const allocations = asObject(context.argument['allocationsWithContext']) ?? {};
  const results = Object.entries(allocations).map(([leg, pair]) => {
    const allocation = textAt(pair, '_1');
    const { sender, receiver } = asObject(asObject(transferLegs)?.[leg]) ?? {};
    const actors = [venue, sender, receiver].map((party) => asText(party));
    const extraArgs = asObject(asObject(pair)?.['_2']) ?? {};
    const result = context.exercise(allocation, choice, { extraArgs }, [...new Set(actors)], interfaces.allocation);
    return [leg, result] as const;
  });
  return Object.fromEntries(results);
}

function tradeView(payload: JsonObject): JsonObject {
  return {
    settlement: settlementOf(payload),
    transferLegs: payload['transferLegs'] ?? {},
    meta: emptyMetadata,
  };
}

/** Settlement data for the allocations of a trade. */
export function settlementOf(trade: JsonObject): JsonObject {
  return {
    executor: trade['venue'] ?? null,
    settlementRef: { id: 'OTCTradeProposal', cid: trade['tradeCid'] ?? null },
    requestedAt: trade['createdAt'] ?? null,
    allocateBefore: trade['prepareUntil'] ?? null,
    settleBefore: trade['settleBefore'] ?? null,
    meta: emptyMetadata,
  };
}

const venueControllers: Choice['controllers'] = (payload) => [asText(payload['venue'])];

const trade: Template = {
  name: names.trade,
  signatories: (payload) => [asText(payload['venue']), ...tradersOf(payload)],
  observers: () => [],
  interfaces: [{ name: interfaces.allocationRequest, view: tradeView }],
  choices: {
    OTCTrade_Settle: {
      consuming: true,
      controllers: venueControllers,
      run: (context) => endAllocations(context, 'Allocation_ExecuteTransfer'),
    },
    OTCTrade_Cancel: {
      consuming: true,
      controllers: venueControllers,
      run: (context) => endAllocations(context, 'Allocation_Cancel'),
    },
    AllocationRequest_Reject: {
      consuming: true,
      interface: interfaces.allocationRequest,
      controllers: (_, argument) => [asText(argument['actor'])],
      run: () => ({ meta: emptyMetadata }),
    },
    AllocationRequest_Withdraw: {
      consuming: true,
      interface: interfaces.allocationRequest,
      controllers: venueControllers,
      run: () => ({ meta: emptyMetadata }),
    },
  },
};

/** The templates of trades. */
export function settlementTemplates(): Template[] {
  return [proposal, trade];
}
