/**
 * Models of the published test tokens: template names, payload shapes and effects of choices. The sandbox needs them
 * because it interprets no package code. The recordings have the same data from a real participant.
 */
import { mintAccount, ownerOf } from '../../../packages/ledger-sandbox/src/demo/registry/accounts.ts';
import { registryTemplates } from '../../../packages/ledger-sandbox/src/demo/registry/registry-templates.ts';
import type { Registry, Reservation, Shape } from '../../../packages/ledger-sandbox/src/demo/registry/registry.ts';
import { emptyMetadata, reasonMeta } from '../../../packages/ledger-sandbox/src/demo/templates/metadata.ts';
import { interfaces } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import type { ChoiceContext, Template } from '../../../packages/ledger-sandbox/src/contracts/model.ts';
import { asList, asObject, asText, asTexts, textAt } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Json, JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import { formatNumeric, parseNumeric } from '../../../packages/ledger-sandbox/src/wire/values.ts';

const v2 = 'splice-test-token-v2:Splice.Testing.Tokens.TestTokenV2';
const v1 = 'splice-test-token-v1:Splice.Testing.Tokens.TestTokenV1';

/** Names of the templates that tests create or query. */
export const publishedNames = {
  rulesV2: `${v2}:TokenRules`,
  offerV2: `${v2}.Transfer:TokenTransferOffer`,
  allocationV2: `${v2}.Allocation:TokenAllocationV2`,
  allocationV1: `${v2}.Allocation:TokenAllocationV1`,
  tokenV1: `${v1}:Token`,
  rulesV1: `${v1}:TokenRules`,
  offerV1: `${v1}:TokenTransferOffer`,
  ownAllocationV1: `${v1}:TokenAllocation`,
} as const;

function object(value: Json | undefined): JsonObject {
  return asObject(value) ?? {};
}

/** The entries of a map from actions to their values. */
function pairs(prefix: string, entries: Readonly<Record<string, Json>>): Json {
  return Object.entries(entries).map(([action, value]) => [{ tag: `${prefix}_${action}`, value: {} }, value]);
}

/** The payload inside `TokenAllocationV2`. The allocation of version 1 wraps it. */
const reservationShape: Omit<Shape<Reservation>, 'template'> = {
  write: ({ settlement, allocation, holdingCids, requestedAt, allocateBefore }) => {
    const [side] = asList(allocation['transferLegSides']).filter(
      (settlementSide) => textAt(settlementSide, 'side') === 'SenderSide',
    );
    const owner = ownerOf(allocation['authorizer']);
    const executors = asTexts(settlement['executors']);
    return {
      originalAllocationCid: null,
      actionAuthorizers: pairs('AA', { Settle: [owner] }),
      availableActions: pairs('AA', { Settle: [executors], Cancel: [executors], Withdraw: [[owner]] }),
      lockedTokens: { [textAt(side, 'instrumentId')]: [...holdingCids] },
      settlement,
      allocation,
      requestedAt,
      allocateBefore,
      numIterations: '0',
    };
  },
  read: ({ settlement, allocation, lockedTokens, requestedAt, allocateBefore }) => ({
    settlement: object(settlement),
    allocation: object(allocation),
    holdingCids: Object.values(object(lockedTokens)).flatMap((cids) => asTexts(cids)),
    requestedAt: asText(requestedAt),
    allocateBefore: asText(allocateBefore) || null,
  }),
};

const registry: Registry = {
  rules: publishedNames.rulesV2,
  rulesKey: 'testTokenV2/tokenRules',
  holding: {
    template: `${v2}.Holding:Token`,
    write: (holding) => ({ holding }),
    read: ({ holding }) => object(holding),
  },
  transfer: {
    template: publishedNames.offerV2,
    write: ({ admin, transfer }) => {
      const [sender, receiver] = [ownerOf(transfer['sender']) || admin, ownerOf(transfer['receiver'])];
      return {
        actionAuthorizers: pairs('TIA', { Accept: [sender] }),
        availableActions: pairs('TIA', { Accept: [[receiver]], Reject: [[receiver]], Withdraw: [[sender]] }),
        transfer,
        originalInstructionCid: null,
        mintAmount: ownerOf(transfer['sender']) === '' ? (transfer['amount'] ?? '') : formatNumeric(0n),
      };
    },
    read: ({ transfer }) => ({ admin: textAt(transfer, 'instrumentId', 'admin'), transfer: object(transfer) }),
  },
  allocation: { template: publishedNames.allocationV2, ...reservationShape },
  allocationV1: {
    template: publishedNames.allocationV1,
    write: (fields) => ({ allocationV2: reservationShape.write(fields) }),
    read: ({ allocationV2 }) => reservationShape.read(object(allocationV2)),
  },
  locksAlways: true,
  callsVersion1: false,
};

function createMintOffer({ argument, create, time }: ChoiceContext): Json {
  const { receiver = null, amount = null, instrumentId = null, offeredAt = null } = argument;
  const transfer = {
    sender: mintAccount,
    receiver,
    amount,
    instrumentId,
    requestedAt: offeredAt,
    executeBefore: time,
    inputHoldingCids: [],
    meta: reasonMeta('mint offer'),
  };
  const offerCid = create(
    publishedNames.offerV2,
    registry.transfer.write({ admin: textAt(instrumentId, 'admin'), transfer }),
  );
  return { offerCid, meta: emptyMetadata };
}

/** The holding view of version 1, of a token, an offer or an allocation. */
function viewV1(payload: JsonObject): JsonObject {
  const { holding, transfer, allocation } = payload;
  if (holding !== undefined) return object(holding);
  const leg = object(transfer ?? object(allocation)['transferLeg']);
  const expiresAt = leg['executeBefore'] ?? object(object(allocation)['settlement'])['settleBefore'] ?? null;
  const { sender: owner = '', instrumentId = null, amount = '' } = leg;
  const lock = { holders: [textAt(instrumentId, 'admin')], expiresAt, expiresAfter: null, context: null };
  return { owner, instrumentId, amount, lock, meta: emptyMetadata };
}

function token(owner: Json, { instrumentId = null }: JsonObject, amount: Json): JsonObject {
  return { holding: { owner, instrumentId, amount, lock: null, meta: emptyMetadata } };
}

/** Archives tokens, and creates the allocation, which is itself a holding, and the change. */
function lockV1(
  context: ChoiceContext,
  contractData: { template: string; payload: JsonObject },
  amount: Json,
): [string, string[]] {
  const inputs = asTexts(
    context.argument['inputHoldingCids'] ?? object(context.argument['transfer'])['inputHoldingCids'],
  );
  let remainingAmount = -(parseNumeric(asText(amount)) ?? 0n);
  let view: JsonObject = {};
  for (const input of inputs) {
    const contract = context.fetch(input);
    view = viewV1(contract.createArgument);
    remainingAmount += parseNumeric(asText(view['amount'])) ?? 0n;
    context.exercise(input, 'Archive', {}, contract.signatories);
  }
  const cid = context.create(contractData.template, contractData.payload);
  const change =
    remainingAmount > 0n
      ? [context.create(publishedNames.tokenV1, token(view['owner'] ?? '', view, formatNumeric(remainingAmount)))]
      : [];
  return [cid, change];
}

const holdingV1 = { name: interfaces.holding, view: viewV1 };
const holdersV1 = (payload: JsonObject): string[] => {
  const view = viewV1(payload);
  return [textAt(view, 'instrumentId', 'admin'), asText(view['owner'])];
};

function offersV1(): Template {
  const endTransferChoice = (
    endedBy: 'sender' | 'receiver',
    to: 'sender' | 'receiver',
  ): Template['choices'][string] => ({
    consuming: true,
    interface: interfaces.transferInstruction,
    controllers: (payload) => [textAt(payload, 'transfer', endedBy)],
    run: ({ contract, create }) => {
      const transfer = object(contract.createArgument['transfer']);
      const createdToken = create(
        publishedNames.tokenV1,
        token(transfer[to] ?? '', transfer, transfer['amount'] ?? ''),
      );
      const failedResult = {
        output: { tag: 'TransferInstructionResult_Failed', value: {} },
        senderChangeCids: [createdToken],
      };
      if (to === 'sender') return { ...failedResult, meta: emptyMetadata };
      const output = { tag: 'TransferInstructionResult_Completed', value: { receiverHoldingCids: [createdToken] } };
      return { output, senderChangeCids: [], meta: emptyMetadata };
    },
  });
  return {
    name: publishedNames.offerV1,
    signatories: holdersV1,
    observers: (payload) => [textAt(payload, 'transfer', 'receiver')],
    interfaces: [
      holdingV1,
      {
        name: interfaces.transferInstruction,
        view: (payload) => ({
          originalInstructionCid: null,
          transfer: payload['transfer'] ?? null,
          status: { tag: 'TransferPendingReceiverAcceptance', value: {} },
          meta: emptyMetadata,
        }),
      },
    ],
    choices: {
      TransferInstruction_Accept: endTransferChoice('receiver', 'receiver'),
      TransferInstruction_Reject: endTransferChoice('receiver', 'sender'),
      TransferInstruction_Withdraw: endTransferChoice('sender', 'sender'),
    },
  };
}

function allocationsV1(): Template {
  const leg = (payload: JsonObject): JsonObject => object(object(payload['allocation'])['transferLeg']);
  return {
    name: publishedNames.ownAllocationV1,
    signatories: holdersV1,
    observers: (payload) => [textAt(payload, 'allocation', 'settlement', 'executor')],
    interfaces: [
      holdingV1,
      {
        name: interfaces.allocation,
        view: (payload) => ({ allocation: payload['allocation'] ?? null, holdingCids: [], meta: emptyMetadata }),
      },
    ],
    choices: {
      Allocation_ExecuteTransfer: {
        consuming: true,
        interface: interfaces.allocation,
        controllers: (payload) => {
          const { sender, receiver } = leg(payload);
          return [textAt(payload, 'allocation', 'settlement', 'executor'), asText(sender), asText(receiver)];
        },
        run: ({ contract, create }) => {
          const { receiver = '', amount = '', instrumentId = null } = leg(contract.createArgument);
          const createdToken = create(publishedNames.tokenV1, token(receiver, { instrumentId }, amount));
          return { senderHoldingCids: [], receiverHoldingCids: [createdToken], meta: emptyMetadata };
        },
      },
    },
  };
}

function rulesV1(): Template {
  const sender = (argument: JsonObject): string =>
    textAt(argument, 'transfer', 'sender') || textAt(argument, 'allocation', 'transferLeg', 'sender');
  const view = (payload: JsonObject): JsonObject => ({ admin: payload['admin'] ?? '', meta: emptyMetadata });
  return {
    name: publishedNames.rulesV1,
    signatories: (payload) => [asText(payload['admin'])],
    observers: () => [],
    interfaces: [interfaces.transferFactory, interfaces.allocationFactory].map((name) => ({ name, view })),
    choices: {
      TransferFactory_Transfer: {
        consuming: false,
        interface: interfaces.transferFactory,
        controllers: (_, argument) => [sender(argument)],
        run: (context) => {
          const { transfer = null } = context.argument;
          const offerData = { template: publishedNames.offerV1, payload: { transfer } };
          const [transferInstructionCid, senderChangeCids] = lockV1(
            context,
            offerData,
            object(transfer)['amount'] ?? '',
          );
          const output = { tag: 'TransferInstructionResult_Pending', value: { transferInstructionCid } };
          return { output, senderChangeCids, meta: emptyMetadata };
        },
      },
      AllocationFactory_Allocate: {
        consuming: false,
        interface: interfaces.allocationFactory,
        controllers: (_, argument) => [sender(argument)],
        run: (context) => {
          const { allocation = null } = context.argument;
          const allocationData = { template: publishedNames.ownAllocationV1, payload: { allocation } };
          const { amount = '' } = object(object(allocation)['transferLeg']);
          const [allocationCid, senderChangeCids] = lockV1(context, allocationData, amount);
          const output = { tag: 'AllocationInstructionResult_Completed', value: { allocationCid } };
          return { output, senderChangeCids, meta: emptyMetadata };
        },
      },
    },
  };
}

/** The templates of both packages. */
export function publishedModels(): Template[] {
  const rules = {
    TokenRules_OfferMint: {
      consuming: false,
      controllers: (payload: JsonObject) => [asText(payload['admin'])],
      run: createMintOffer,
    },
  };
  const tokenTemplate = { name: publishedNames.tokenV1, signatories: holdersV1, observers: () => [], choices: {} };
  return [
    ...registryTemplates(registry, { rules, holding: {} }),
    { ...tokenTemplate, interfaces: [holdingV1] },
    rulesV1(),
    offersV1(),
    allocationsV1(),
  ];
}
