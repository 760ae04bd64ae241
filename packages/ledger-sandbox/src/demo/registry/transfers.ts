/**
 * Transfers with both versions of the token standard. Both versions move and log holdings in the same way.
 */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { contextValue, kindMeta, emptyMetadata, reasonOf } from '../templates/metadata.ts';
import { interfaces, interfacesV2 } from '../templates/names.ts';
import { basicAccount, isBasic, isSameAccount, ownerOf, partiesOf } from './accounts.ts';
import { createHolding, legSide, log, contextIn, takeHoldings, units } from './holdings-change.ts';
import type { ChangeContext } from './holdings-change.ts';
import type { Registry } from './registry.ts';

/** The fields of a `Transfer` of version 2. */
function detailsOf(transfer: JsonObject): {
  id: string;
  amount: bigint;
  sender: Json;
  receiver: Json;
  inputs: string[];
} {
  const { sender = null, receiver = null, amount } = transfer;
  const id = textAt(transfer, 'instrumentId', 'id');
  return { id, amount: units(amount), sender, receiver, inputs: asTexts(transfer['inputHoldingCids']) };
}

/** Converts a transfer of version 1 to version 2. */
function transferFromV1(transfer: JsonObject): JsonObject {
  const account = (key: string): JsonObject => basicAccount(asText(transfer[key]));
  return { ...transfer, sender: account('sender'), receiver: account('receiver') };
}

/** Converts a transfer to version 1, which knows only owners. */
function toVersion1(transfer: JsonObject): JsonObject {
  return { ...transfer, sender: ownerOf(transfer['sender']), receiver: ownerOf(transfer['receiver']) };
}

function resultOf(output: JsonObject, change: string | undefined, meta: JsonObject): Json {
  return { output, senderChangeCids: change === undefined ? [] : [change], meta };
}

/** Pays with these holdings, locked or not, and returns the change. */
function pay(registryContext: ChangeContext, transfer: JsonObject, inputs: readonly string[], isLocked: boolean): Json {
  const { id, amount, sender, receiver } = detailsOf(transfer);
  const isSelfTransfer = isSameAccount(sender, receiver);
  const isMint = ownerOf(sender) === '';
  const inputAmount = takeHoldings(registryContext, sender, inputs, isLocked).get(id) ?? 0n;
  const change = isMint ? undefined : createHolding(registryContext, sender, id, inputAmount - amount);
  const newHolding = createHolding(registryContext, receiver, id, amount);
  const { meta = emptyMetadata } = transfer;
  const leg = { amount: asText(transfer['amount']), instrumentId: id, meta };
  const [sentSide, receivedSide] = [legSide('SenderSide', leg, receiver), legSide('ReceiverSide', leg, sender)];
  if (isSelfTransfer)
    log(registryContext, { account: sender, inputs, sides: [sentSide, receivedSide], outputs: [newHolding, change] });
  else {
    log(registryContext, { account: sender, inputs, sides: [sentSide], outputs: [change] });
    log(registryContext, { account: receiver, inputs: [], sides: [receivedSide], outputs: [newHolding] });
  }
  const value = { receiverHoldingCids: newHolding === undefined ? [] : [newHolding] };
  const kind = isMint ? 'mint' : 'transfer';
  const output = { tag: 'TransferInstructionResult_Completed', value };
  return resultOf(output, change, kindMeta(kind, ownerOf(sender), reasonOf(meta)));
}

/** Converts an owner's holdings into one with the amount, and a remainder. */
function rearrange(registryContext: ChangeContext, transfer: JsonObject): Json {
  const { id, amount, sender, inputs } = detailsOf(transfer);
  const inputAmount = takeHoldings(registryContext, sender, inputs).get(id) ?? 0n;
  const change = createHolding(registryContext, sender, id, inputAmount - amount);
  const newHolding = createHolding(registryContext, sender, id, amount);
  log(registryContext, { account: sender, inputs, outputs: [newHolding, change], reason: 'merge or split' });
  const output = { tag: 'TransferInstructionResult_Completed', value: { receiverHoldingCids: [newHolding ?? ''] } };
  return resultOf(output, change, kindMeta('merge-split', ownerOf(sender)));
}

/** Locks the amount until the receiver has responded. */
function lock(
  registryContext: ChangeContext,
  transfer: JsonObject,
): { readonly locked: string; readonly change: string | undefined } {
  const { id, amount, sender, receiver, inputs } = detailsOf(transfer);
  const inputAmount = takeHoldings(registryContext, sender, inputs).get(id) ?? 0n;
  const change = createHolding(registryContext, sender, id, inputAmount - amount);
  const reason = `transfer to ${ownerOf(receiver)}`;
  const lockedHolding = createHolding(registryContext, sender, id, amount, {
    holders: [registryContext.admin, ownerOf(sender)],
    expiresAt: transfer['executeBefore'] ?? null,
    expiresAfter: null,
    context: reason,
  });
  log(registryContext, { account: sender, inputs, outputs: [lockedHolding, change], reason: `lock for ${reason}` });
  return { locked: lockedHolding ?? '', change };
}

/** Begins a transfer: in one step if the receiver has approved in advance or is the sender, otherwise in two. */
function startTransfer(registryContext: ChangeContext, transfer: JsonObject, extraArgs: Json | undefined): Json {
  const { context, registry, admin } = registryContext;
  const { amount, sender, receiver, inputs } = detailsOf(transfer);
  if (amount <= 0n) throw assertionFailed('the amount must be positive');
  const isSelfTransfer = isSameAccount(sender, receiver);
  const isDirect = isSelfTransfer || contextValue(extraArgs, 'transfer-preapproval') !== undefined;
  if (isDirect && !registry.locksAlways)
    return isSelfTransfer ? rearrange(registryContext, transfer) : pay(registryContext, transfer, inputs, false);
  const { locked: lockedHolding, change } = lock(registryContext, transfer);
  if (isDirect) {
    const paymentResult = asObject(pay(registryContext, transfer, [lockedHolding], true)) ?? {};
    return { ...paymentResult, senderChangeCids: change === undefined ? [] : [change] };
  }
  const pendingTransfer = { admin, transfer: { ...transfer, inputHoldingCids: [lockedHolding] } };
  const transferInstructionCid = context.create(registry.transfer.template, registry.transfer.write(pendingTransfer));
  const output = { tag: 'TransferInstructionResult_Pending', value: { transferInstructionCid } };
  return resultOf(output, change, emptyMetadata);
}

/** Returns the locked amount. */
function returnFunds(registryContext: ChangeContext, transfer: JsonObject): Json {
  const { id, sender, inputs } = detailsOf(transfer);
  const inputAmount = takeHoldings(registryContext, sender, inputs, true).get(id) ?? 0n;
  const returnedHoldings = createHolding(registryContext, sender, id, inputAmount);
  log(registryContext, { account: sender, inputs, outputs: [returnedHoldings], reason: 'unlock' });
  const output = { tag: 'TransferInstructionResult_Failed', value: {} };
  return resultOf(output, returnedHoldings, kindMeta('unlock', ownerOf(sender)));
}

/** Ends a pending transfer. The caller archives the contract itself. */
function end(context: ChoiceContext, registry: Registry, action: Action): Json {
  const { admin, transfer } = registry.transfer.read(context.contract.createArgument);
  const registryContext = contextIn(context, registry, admin);
  return action === 'Accept'
    ? pay(registryContext, transfer, detailsOf(transfer).inputs, true)
    : returnFunds(registryContext, transfer);
}

const actions = ['Accept', 'Reject', 'Withdraw'] as const;
type Action = (typeof actions)[number];

/** The party that may take an action. The issuer withdraws its own offers. */
function actorOf({ admin, transfer }: { admin: string; transfer: JsonObject }, action: Action): string {
  return ownerOf(transfer[action === 'Withdraw' ? 'sender' : 'receiver']) || admin;
}

function endingChoices(registry: Registry, action: Action): readonly Choice[] {
  const name = `TransferInstruction_${action}`;
  const version2: Choice = {
    consuming: false,
    interface: interfacesV2.transferInstruction,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => {
      const { contract, argument, exercise } = context;
      const pendingTransfer = registry.transfer.read(contract.createArgument);
      const actor = actorOf(pendingTransfer, action);
      if (!asTexts(argument['actors']).includes(actor)) throw assertionFailed(`${action} is only allowed to ${actor}`);
      const { sender, receiver } = pendingTransfer.transfer;
      if (registry.callsVersion1 && isBasic(sender) && isBasic(receiver)) {
        const { extraArgs = null } = argument;
        return exercise(contract.contractId, name, { extraArgs }, [actor], interfaces.transferInstruction);
      }
      exercise(contract.contractId, 'Archive', {}, contract.signatories);
      return end(context, registry, action);
    },
  };
  const version1: Choice = {
    consuming: true,
    interface: interfaces.transferInstruction,
    controllers: (payload) => [actorOf(registry.transfer.read(payload), action)],
    run: (context) => end(context, registry, action),
  };
  return [version2, version1];
}

/** The template of pending transfers. */
export function waitingTransfers(registry: Registry): Template {
  const { template: name, read: readPayload } = registry.transfer;
  const viewV1 = (payload: JsonObject): JsonObject => ({
    originalInstructionCid: null,
    transfer: toVersion1(readPayload(payload).transfer),
    status: { tag: 'TransferPendingReceiverAcceptance', value: {} },
    meta: emptyMetadata,
  });
  const viewV2 = (payload: JsonObject): JsonObject => {
    const { transfer } = readPayload(payload);
    const available = actions.map((action) => [
      { tag: `TIA_${action}`, value: {} },
      [[actorOf(readPayload(payload), action)]],
    ]);
    const { executeBefore: expiresAt = null } = transfer;
    return { originalInstructionCid: null, transfer, expiresAt, availableActions: available, meta: emptyMetadata };
  };
  return {
    name,
    signatories: (payload) => {
      const { admin, transfer } = readPayload(payload);
      return [...new Set([admin, ownerOf(transfer['sender']) || admin])];
    },
    observers: (payload) => {
      const { transfer } = readPayload(payload);
      return [...new Set([...partiesOf(transfer['receiver']), ...partiesOf(transfer['sender'])])];
    },
    interfaces: [
      { name: interfaces.transferInstruction, view: viewV1 },
      { name: interfacesV2.transferInstruction, view: viewV2 },
    ],
    choices: Object.fromEntries(
      actions.map((action) => [`TransferInstruction_${action}`, endingChoices(registry, action)] as const),
    ),
  };
}

/** The choices of the rules that begin transfers. */
export function transferFactoryChoices(registry: Registry): Template['choices'] {
  const startedTransfer = (context: ChoiceContext, transfer: JsonObject): Json => {
    const admin = textAt(context.contract.createArgument, 'admin');
    if (textAt(transfer, 'instrumentId', 'admin') !== admin)
      throw assertionFailed('the instrument is of another issuer');
    return startTransfer(contextIn(context, registry, admin), transfer, context.argument['extraArgs']);
  };
  const version2: Choice = {
    consuming: false,
    interface: interfacesV2.transferFactory,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => startedTransfer(context, asObject(context.argument['transfer']) ?? {}),
  };
  const version1: Choice = {
    consuming: false,
    interface: interfaces.transferFactory,
    controllers: (_, argument) => [textAt(argument, 'transfer', 'sender')],
    run: (context) => startedTransfer(context, transferFromV1(asObject(context.argument['transfer']) ?? {})),
  };
  return { TransferFactory_Transfer: [version2, version1] };
}
