/** Allocations of the token standard: holdings allocated to one leg of a settlement. */
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { moveFunds, unlock } from './funds.ts';
import type { InstrumentV1 } from './instruments.ts';
import { kindMeta, emptyMetadata } from './metadata.ts';
import { interfaces } from './names.ts';

/** Locks the amount of a leg until the settlement ends. */
export function allocate(context: ChoiceContext, instrument: InstrumentV1): Json {
  const { argument, contract } = context;
  const admin = asText(contract.createArgument[instrument.adminField]);
  const allocation = asObject(argument['allocation']) ?? {};
  const sender = textAt(allocation, 'transferLeg', 'sender');
  const lock = {
    holders: [admin],
    expiresAt: textAt(allocation, 'settlement', 'settleBefore'),
    context: `allocation for ${asText(allocation['transferLegId'])}`,
  };
  const output = { receiver: sender, amount: textAt(allocation, 'transferLeg', 'amount'), lock };
  const { made: newHoldings, change } = moveFunds(context, instrument, {
    admin,
    sender,
    inputs: asTexts(argument['inputHoldingCids']),
    outputs: [output],
    extraArgs: argument['extraArgs'],
  });
  const allocationCid = context.create(
    instrument.allocation,
    instrument.waiting(admin, newHoldings[0] ?? '', 'allocation', allocation),
  );
  return {
    output: { tag: 'AllocationInstructionResult_Completed', value: { allocationCid } },
    senderChangeCids: change === undefined ? [] : [change],
    meta: kindMeta('transfer', sender),
  };
}

function legOf(payload: JsonObject): { sender: string; receiver: string; executor: string; amount: string } {
  const leg = (key: string): string => textAt(payload, 'allocation', 'transferLeg', key);
  const executor = textAt(payload, 'allocation', 'settlement', 'executor');
  return { sender: leg('sender'), receiver: leg('receiver'), amount: leg('amount'), executor };
}

function executeTransfer(context: ChoiceContext, instrument: InstrumentV1): Json {
  const payload = context.contract.createArgument;
  const { admin, lockedHolding } = instrument.behind(payload);
  const { sender, receiver, amount } = legOf(payload);
  const { extraArgs } = context.argument;
  const unlockedFunds = unlock(context, instrument, lockedHolding, extraArgs);
  const outputs = [{ receiver, amount }];
  const { made: newHoldings, change } = moveFunds(context, instrument, {
    admin,
    sender,
    inputs: [unlockedFunds],
    outputs,
    extraArgs,
  });
  return {
    senderHoldingCids: change === undefined ? [] : [change],
    receiverHoldingCids: [...newHoldings],
    meta: kindMeta('transfer', sender),
  };
}

function returnFunds(context: ChoiceContext, instrument: InstrumentV1): Json {
  const payload = context.contract.createArgument;
  const { admin, lockedHolding } = instrument.behind(payload);
  const { sender, amount } = legOf(payload);
  const { extraArgs } = context.argument;
  const unlockedFunds = unlock(context, instrument, lockedHolding, extraArgs);
  const movement = { admin, sender, inputs: [unlockedFunds], outputs: [{ receiver: sender, amount }], extraArgs };
  const senderHoldingCids =
    unlockedFunds !== lockedHolding ? [unlockedFunds] : [...moveFunds(context, instrument, movement).made];
  return { senderHoldingCids, meta: kindMeta('unlock', sender) };
}

/** The template of allocations of an instrument. */
export function allocationTemplate(instrument: InstrumentV1): Template {
  const allControllers: Choice['controllers'] = (payload) => {
    const { sender, receiver, executor } = legOf(payload);
    return [...new Set([executor, sender, receiver])];
  };
  const choice = (controllers: Choice['controllers'], run: Choice['run']): Choice => ({
    consuming: true,
    interface: interfaces.allocation,
    controllers,
    run,
  });
  const view = (payload: JsonObject): JsonObject => ({
    allocation: payload['allocation'] ?? null,
    holdingCids: [instrument.behind(payload).lockedHolding],
    meta: emptyMetadata,
  });
  return {
    name: instrument.allocation,
    signatories: (payload) => [instrument.behind(payload).admin, legOf(payload).sender],
    observers: (payload) => [legOf(payload).executor],
    interfaces: [{ name: interfaces.allocation, view }],
    choices: {
      Allocation_ExecuteTransfer: choice(allControllers, (context) => executeTransfer(context, instrument)),
      Allocation_Cancel: choice(allControllers, (context) => returnFunds(context, instrument)),
      Allocation_Withdraw: choice(
        (payload) => [legOf(payload).sender],
        (context) => returnFunds(context, instrument),
      ),
    },
  };
}
