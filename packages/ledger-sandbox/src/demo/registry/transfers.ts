/**
 * Transfers with both versions of the token standard. Both versions move and log holdings in the same way.
 */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { contextValue, kindMeta, noMeta, reasonOf } from '../templates/metadata.ts';
import { interfaces, interfacesV2 } from '../templates/names.ts';
import { basicAccount, isBasic, isSameAccount, ownerOf, partiesOf } from './accounts.ts';
import { give, legSide, log, placeIn, take, units } from './holdings-change.ts';
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
function ofVersion1(transfer: JsonObject): JsonObject {
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
function pay(registryContext: ChangeContext, transfer: JsonObject, inputs: readonly string[], locked: boolean): Json {
  const { id, amount, sender, receiver } = detailsOf(transfer);
  const own = isSameAccount(sender, receiver);
  const minted = ownerOf(sender) === '';
  const held = take(registryContext, sender, inputs, locked).get(id) ?? 0n;
  const change = minted ? undefined : give(registryContext, sender, id, held - amount);
  const made = give(registryContext, receiver, id, amount);
  const { meta = noMeta } = transfer;
  const leg = { amount: asText(transfer['amount']), instrumentId: id, meta };
  const [sent, received] = [legSide('SenderSide', leg, receiver), legSide('ReceiverSide', leg, sender)];
  if (own) log(registryContext, { account: sender, inputs, sides: [sent, received], outputs: [made, change] });
  else {
    log(registryContext, { account: sender, inputs, sides: [sent], outputs: [change] });
    log(registryContext, { account: receiver, inputs: [], sides: [received], outputs: [made] });
  }
  const value = { receiverHoldingCids: made === undefined ? [] : [made] };
  const kind = minted ? 'mint' : 'transfer';
  const output = { tag: 'TransferInstructionResult_Completed', value };
  return resultOf(output, change, kindMeta(kind, ownerOf(sender), reasonOf(meta)));
}

/** Converts an owner's holdings into one with the amount, and a remainder. */
function rearrange(registryContext: ChangeContext, transfer: JsonObject): Json {
  const { id, amount, sender, inputs } = detailsOf(transfer);
  const held = take(registryContext, sender, inputs).get(id) ?? 0n;
  const change = give(registryContext, sender, id, held - amount);
  const made = give(registryContext, sender, id, amount);
  log(registryContext, { account: sender, inputs, outputs: [made, change], reason: 'merge or split' });
  const output = { tag: 'TransferInstructionResult_Completed', value: { receiverHoldingCids: [made ?? ''] } };
  return resultOf(output, change, kindMeta('merge-split', ownerOf(sender)));
}

/** Locks the amount until the receiver has responded. */
function lock(
  registryContext: ChangeContext,
  transfer: JsonObject,
): { readonly locked: string; readonly change: string | undefined } {
  const { id, amount, sender, receiver, inputs } = detailsOf(transfer);
  const held = take(registryContext, sender, inputs).get(id) ?? 0n;
  const change = give(registryContext, sender, id, held - amount);
  const reason = `transfer to ${ownerOf(receiver)}`;
  const locked = give(registryContext, sender, id, amount, {
    holders: [registryContext.admin, ownerOf(sender)],
    expiresAt: transfer['executeBefore'] ?? null,
    expiresAfter: null,
    context: reason,
  });
  log(registryContext, { account: sender, inputs, outputs: [locked, change], reason: `lock for ${reason}` });
  return { locked: locked ?? '', change };
}

/** Begins a transfer: in one step if the receiver has approved in advance or is the sender, otherwise in two. */
function begin(registryContext: ChangeContext, transfer: JsonObject, extraArgs: Json | undefined): Json {
  const { context, registry, admin } = registryContext;
  const { amount, sender, receiver, inputs } = detailsOf(transfer);
  if (amount <= 0n) throw assertionFailed('the amount must be positive');
  const own = isSameAccount(sender, receiver);
  const atOnce = own || contextValue(extraArgs, 'transfer-preapproval') !== undefined;
  if (atOnce && !registry.locksAlways)
    return own ? rearrange(registryContext, transfer) : pay(registryContext, transfer, inputs, false);
  const { locked, change } = lock(registryContext, transfer);
  if (atOnce) {
    const paid = asObject(pay(registryContext, transfer, [locked], true)) ?? {};
    return { ...paid, senderChangeCids: change === undefined ? [] : [change] };
  }
  const waiting = { admin, transfer: { ...transfer, inputHoldingCids: [locked] } };
  const transferInstructionCid = context.create(registry.transfer.template, registry.transfer.write(waiting));
  const output = { tag: 'TransferInstructionResult_Pending', value: { transferInstructionCid } };
  return resultOf(output, change, noMeta);
}

/** Returns the locked amount. */
function giveBack(registryContext: ChangeContext, transfer: JsonObject): Json {
  const { id, sender, inputs } = detailsOf(transfer);
  const held = take(registryContext, sender, inputs, true).get(id) ?? 0n;
  const back = give(registryContext, sender, id, held);
  log(registryContext, { account: sender, inputs, outputs: [back], reason: 'unlock' });
  const output = { tag: 'TransferInstructionResult_Failed', value: {} };
  return resultOf(output, back, kindMeta('unlock', ownerOf(sender)));
}

/** Ends a pending transfer. The caller archives the contract itself. */
function end(context: ChoiceContext, registry: Registry, action: Action): Json {
  const { admin, transfer } = registry.transfer.read(context.contract.createArgument);
  const registryContext = placeIn(context, registry, admin);
  return action === 'Accept'
    ? pay(registryContext, transfer, detailsOf(transfer).inputs, true)
    : giveBack(registryContext, transfer);
}

const actions = ['Accept', 'Reject', 'Withdraw'] as const;
type Action = (typeof actions)[number];

/** The party that may take an action. The issuer withdraws its own offers. */
function actorOf({ admin, transfer }: { admin: string; transfer: JsonObject }, action: Action): string {
  return ownerOf(transfer[action === 'Withdraw' ? 'sender' : 'receiver']) || admin;
}

function endings(registry: Registry, action: Action): readonly Choice[] {
  const name = `TransferInstruction_${action}`;
  const version2: Choice = {
    consuming: false,
    interface: interfacesV2.transferInstruction,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => {
      const { contract, argument, exercise } = context;
      const waiting = registry.transfer.read(contract.createArgument);
      const actor = actorOf(waiting, action);
      if (!asTexts(argument['actors']).includes(actor)) throw assertionFailed(`${action} is only allowed to ${actor}`);
      const { sender, receiver } = waiting.transfer;
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
  const { template: name, read } = registry.transfer;
  const viewV1 = (payload: JsonObject): JsonObject => ({
    originalInstructionCid: null,
    transfer: toVersion1(read(payload).transfer),
    status: { tag: 'TransferPendingReceiverAcceptance', value: {} },
    meta: noMeta,
  });
  const viewV2 = (payload: JsonObject): JsonObject => {
    const { transfer } = read(payload);
    const available = actions.map((action) => [
      { tag: `TIA_${action}`, value: {} },
      [[actorOf(read(payload), action)]],
    ]);
    const { executeBefore: expiresAt = null } = transfer;
    return { originalInstructionCid: null, transfer, expiresAt, availableActions: available, meta: noMeta };
  };
  return {
    name,
    signatories: (payload) => {
      const { admin, transfer } = read(payload);
      return [...new Set([admin, ownerOf(transfer['sender']) || admin])];
    },
    observers: (payload) => {
      const { transfer } = read(payload);
      return [...new Set([...partiesOf(transfer['receiver']), ...partiesOf(transfer['sender'])])];
    },
    interfaces: [
      { name: interfaces.transferInstruction, view: viewV1 },
      { name: interfacesV2.transferInstruction, view: viewV2 },
    ],
    choices: Object.fromEntries(
      actions.map((action) => [`TransferInstruction_${action}`, endings(registry, action)] as const),
    ),
  };
}

/** The choices of the rules that begin transfers. */
export function transferFactoryChoices(registry: Registry): Template['choices'] {
  const started = (context: ChoiceContext, transfer: JsonObject): Json => {
    const admin = textAt(context.contract.createArgument, 'admin');
    if (textAt(transfer, 'instrumentId', 'admin') !== admin)
      throw assertionFailed('the instrument is of another issuer');
    return begin(placeIn(context, registry, admin), transfer, context.argument['extraArgs']);
  };
  const version2: Choice = {
    consuming: false,
    interface: interfacesV2.transferFactory,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => started(context, asObject(context.argument['transfer']) ?? {}),
  };
  const version1: Choice = {
    consuming: false,
    interface: interfaces.transferFactory,
    controllers: (_, argument) => [textAt(argument, 'transfer', 'sender')],
    run: (context) => started(context, ofVersion1(asObject(context.argument['transfer']) ?? {})),
  };
  return { TransferFactory_Transfer: [version2, version1] };
}
