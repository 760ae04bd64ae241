/** Transfers of the token standard: factories that start them, and instructions that wait for their receiver. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { allocate } from './allocation-templates.ts';
import { priceOf } from './holding-templates.ts';
import { consume, holdingFacts, moveFunds, payOut, unlock } from './funds.ts';
import { amulet } from './instruments.ts';
import type { InstrumentV1 } from './instruments.ts';
import { burnMeta, contextValue, kindMeta, emptyMetadata, reasonOf } from './metadata.ts';
import type { TxKind } from './metadata.ts';
import { interfaces, names } from './names.ts';
import { readTrafficMemo, trafficCost, trafficOf, trafficReceiver } from './traffic.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';

/** Refuses inputs that are locked for another purpose. */
export function requireFree(context: ChoiceContext, inputs: readonly string[]): void {
  for (const input of inputs) {
    if (holdingFacts(context.fetch(input)).lock === null) continue;
    throw assertionFailed(`the holding ${input.slice(0, 10)} is locked`);
  }
}

function completedResult(newHoldings: readonly string[], change: string | undefined, meta: JsonObject): Json {
  const output = { tag: 'TransferInstructionResult_Completed', value: { receiverHoldingCids: [...newHoldings] } };
  return { output, senderChangeCids: change === undefined ? [] : [change], meta };
}

/** Runs a transfer that buys traffic: its cost is burnt, and the remainder is returned to the sender. */
function buyTraffic(context: ChoiceContext, admin: string, transfer: JsonObject): Json {
  const [sender, amount] = [asText(transfer['sender']), asText(transfer['amount'])];
  const trafficMemo = readTrafficMemo(transfer['meta']);
  const configCid = asText(contextValue(context.argument['extraArgs'], 'external-party-config-state'));
  const price = priceOf(context, configCid);
  const cost = trafficCost(trafficMemo.bytes, price);
  if (cost > (parseNumeric(amount) ?? 0n)) throw assertionFailed(`the traffic costs ${formatNumeric(cost)}`);
  const spentHoldings = consume(context, asTexts(transfer['inputHoldingCids']), sender);
  if (spentHoldings.sum < cost) throw assertionFailed(`the traffic costs ${formatNumeric(cost)}`);
  const { change } = payOut(
    context,
    amulet,
    { admin, sender, outputs: [] },
    { ...spentHoldings, sum: spentHoldings.sum - cost },
  );
  context.create(names.memberTraffic, trafficOf(admin, trafficMemo, price));
  return completedResult([], change, burnMeta(sender, 'traffic purchase', formatNumeric(cost)));
}

/**
 * Starts a transfer: in one step if the receiver has approved in advance or is the sender, otherwise in two. In two
 * steps, the amount is locked until a response.
 */
function startTransfer(context: ChoiceContext, instrument: InstrumentV1): Json {
  const { argument, contract } = context;
  const admin = asText(contract.createArgument[instrument.adminField]);
  const transfer = asObject(argument['transfer']) ?? {};
  const [sender, receiver, amount] = ['sender', 'receiver', 'amount'].map((key) => asText(transfer[key]));
  const inputs = asTexts(transfer['inputHoldingCids']);
  requireFree(context, inputs);
  if (instrument === amulet && receiver === trafficReceiver) return buyTraffic(context, admin, transfer);
  const { extraArgs } = argument;
  const isSelfTransfer = sender === receiver;
  const kind: TxKind = isSelfTransfer ? 'merge-split' : 'transfer';
  const meta = kindMeta(kind, sender, reasonOf(transfer['meta']));
  const move = { admin, sender: sender ?? '', inputs, extraArgs };
  const output = { receiver: receiver ?? '', amount: amount ?? '' };
  if (isSelfTransfer || contextValue(extraArgs, 'transfer-preapproval') !== undefined) {
    const { made: newHoldings, change } = moveFunds(context, instrument, { ...move, outputs: [output] });
    return completedResult(newHoldings, change, meta);
  }
  const lock = {
    holders: [admin],
    expiresAt: asText(transfer['executeBefore']),
    context: `transfer to ${receiver ?? ''}`,
  };
  const outputs = [{ ...output, receiver: sender ?? '', lock }];
  const { made: newHoldings, change } = moveFunds(context, instrument, { ...move, outputs });
  const [lockedHolding = ''] = newHoldings;
  const pendingTransfer = instrument.waiting(admin, lockedHolding, 'transfer', {
    ...transfer,
    inputHoldingCids: [lockedHolding],
  });
  const value = { transferInstructionCid: context.create(instrument.instruction, pendingTransfer) };
  const senderChangeCids = change === undefined ? [] : [change];
  return { output: { tag: 'TransferInstructionResult_Pending', value }, senderChangeCids, meta };
}

/** Pays the locked amount of an instruction to its receiver, or back to its sender. */
function endTransfer(context: ChoiceContext, instrument: InstrumentV1, to: 'sender' | 'receiver'): Json {
  const payload = context.contract.createArgument;
  const { admin, lockedHolding } = instrument.behind(payload);
  const { extraArgs } = context.argument;
  const sender = textAt(payload, 'transfer', 'sender');
  const unlockedFunds = unlock(context, instrument, lockedHolding, extraArgs);
  const meta = kindMeta(to === 'receiver' ? 'transfer' : 'unlock', sender, reasonOf(asObject(extraArgs)?.['meta']));
  const output = { receiver: textAt(payload, 'transfer', to), amount: textAt(payload, 'transfer', 'amount') };
  if (to === 'sender') {
    // An unlocked Amulet belongs to the sender already.
    const returnedFunds =
      unlockedFunds !== lockedHolding
        ? [unlockedFunds]
        : moveFunds(context, instrument, { admin, sender, inputs: [unlockedFunds], outputs: [output], extraArgs }).made;
    return {
      output: { tag: 'TransferInstructionResult_Failed', value: {} },
      senderChangeCids: [...returnedFunds],
      meta,
    };
  }
  const { made: newHoldings, change } = moveFunds(context, instrument, {
    admin,
    sender,
    inputs: [unlockedFunds],
    outputs: [output],
    extraArgs,
  });
  return completedResult(newHoldings, change, meta);
}

function answerChoice(instrument: InstrumentV1, answeredBy: 'sender' | 'receiver', to: 'sender' | 'receiver'): Choice {
  return {
    consuming: true,
    interface: interfaces.transferInstruction,
    controllers: (payload) => [textAt(payload, 'transfer', answeredBy)],
    run: (context) => endTransfer(context, instrument, to),
  };
}

function instructionView(payload: JsonObject): JsonObject {
  return {
    originalInstructionCid: null,
    transfer: payload['transfer'] ?? null,
    status: { tag: 'TransferPendingReceiverAcceptance', value: {} },
    meta: emptyMetadata,
  };
}

/** The template of an instrument's transfers that wait for their receiver. */
export function instructionTemplate(instrument: InstrumentV1): Template {
  return {
    name: instrument.instruction,
    signatories: (payload) => [instrument.behind(payload).admin, textAt(payload, 'transfer', 'sender')],
    observers: (payload) => [textAt(payload, 'transfer', 'receiver')],
    interfaces: [{ name: interfaces.transferInstruction, view: instructionView }],
    choices: {
      TransferInstruction_Accept: answerChoice(instrument, 'receiver', 'receiver'),
      TransferInstruction_Reject: answerChoice(instrument, 'receiver', 'sender'),
      TransferInstruction_Withdraw: answerChoice(instrument, 'sender', 'sender'),
    },
  };
}

function factoryView(instrument: InstrumentV1, payload: JsonObject): JsonObject {
  return { admin: asText(payload[instrument.adminField]), meta: emptyMetadata };
}

/** The template of the registry's contract that starts transfers and allocations of an instrument. */
export function factoryTemplate(instrument: InstrumentV1): Template {
  const view = (payload: JsonObject): JsonObject => factoryView(instrument, payload);
  const publicFetch = {
    consuming: false,
    controllers: (_: JsonObject, argument: JsonObject) => [asText(argument['actor'])],
  };
  return {
    name: instrument.factory,
    signatories: (payload) => [asText(payload[instrument.adminField])],
    observers: () => [],
    interfaces: [
      { name: interfaces.transferFactory, view },
      { name: interfaces.allocationFactory, view },
    ],
    choices: {
      TransferFactory_Transfer: {
        consuming: false,
        interface: interfaces.transferFactory,
        controllers: (_, argument) => [textAt(argument, 'transfer', 'sender')],
        run: (context) => startTransfer(context, instrument),
      },
      TransferFactory_PublicFetch: {
        ...publicFetch,
        interface: interfaces.transferFactory,
        run: ({ contract }) => view(contract.createArgument),
      },
      AllocationFactory_Allocate: {
        consuming: false,
        interface: interfaces.allocationFactory,
        controllers: (_, argument) => [textAt(argument, 'allocation', 'transferLeg', 'sender')],
        run: (context) => allocate(context, instrument),
      },
    },
  };
}
