/**
 * Settlements with both versions of the token standard: holdings are allocated, and then all holdings of a settlement
 * move at once.
 */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asList, asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { formatNumeric } from '../../wire/values.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { kindMeta, noMeta } from '../templates/metadata.ts';
import { interfaces, interfacesV2 } from '../templates/names.ts';
import { basicAccount, ownerOf, partiesOf } from './accounts.ts';
import { give, legSide, log, placeIn, take, units } from './holdings-change.ts';
import type { ChangeContext, Sums } from './holdings-change.ts';
import type { Registry, SetAside, Shape } from './registry.ts';

function sidesOf({ allocation }: Pick<SetAside, 'allocation'>): JsonObject[] {
  return asList(allocation['transferLegSides']).map((side) => asObject(side) ?? {});
}

/**
 * By instrument: the amount that an account receives minus the amount that it gives.
 * @param only counts only one of the two sides
 */
function sum(sides: readonly JsonObject[], only?: 'SenderSide' | 'ReceiverSide'): Sums {
  const sums: Sums = new Map();
  for (const { side, amount, instrumentId } of sides) {
    if (only !== undefined && side !== only) continue;
    const id = asText(instrumentId);
    sums.set(id, (sums.get(id) ?? 0n) + (side === 'SenderSide' ? -1n : 1n) * units(amount));
  }
  return sums;
}

/** Locks the amounts that an account gives. Returns the allocation, and the change by instrument. */
function setAside(
  { place, shape }: { readonly place: ChangeContext; readonly shape: Shape<SetAside> },
  reservation: Omit<SetAside, 'holdingCids'>,
  inputs: readonly string[],
): { readonly allocationCid: string; readonly change: ReadonlyMap<string, string> } {
  const { authorizer = null, settlementDeadline } = reservation.allocation;
  const senderSums = sum(sidesOf(reservation), 'SenderSide');
  const held = take(place, authorizer, inputs);
  const reason = `allocation for ${asText(reservation.settlement['id'])}`;
  const lock = {
    holders: [place.admin, ownerOf(authorizer)],
    expiresAt: settlementDeadline ?? null,
    expiresAfter: null,
    context: reason,
  };
  const locked: string[] = [];
  const change = new Map<string, string>();
  for (const id of new Set([...senderSums.keys(), ...held.keys()])) {
    const out = -(senderSums.get(id) ?? 0n);
    const rest = give(place, authorizer, id, (held.get(id) ?? 0n) - out);
    if (rest !== undefined) change.set(id, rest);
    const made = give(place, authorizer, id, out, lock);
    if (made !== undefined) locked.push(made);
  }
  log(place, { account: authorizer, inputs, outputs: [...locked, ...change.values()], reason: `lock for ${reason}` });
  const payload = shape.write({ ...reservation, holdingCids: locked });
  return { allocationCid: place.context.create(shape.template, payload), change };
}

/**
 * Ends the allocations of an account, and gives it the amounts that it receives. The legs of the account are logged.
 */
function settle(
  registryContext: ChangeContext,
  { allocation, holdingCids }: SetAside,
  sides: readonly JsonObject[],
): JsonObject {
  const { authorizer = null } = allocation;
  const held = take(registryContext, authorizer, holdingCids, true);
  const due = sum(sides);
  const made = new Map<string, string>();
  for (const id of new Set([...held.keys(), ...due.keys()])) {
    const holding = give(registryContext, authorizer, id, (held.get(id) ?? 0n) + (due.get(id) ?? 0n));
    if (holding !== undefined) made.set(id, holding);
  }
  log(registryContext, { account: authorizer, inputs: holdingCids, sides, outputs: [...made.values()] });
  return Object.fromEntries([...made].map(([id, holding]) => [id, [holding]]));
}

function giveBack(registryContext: ChangeContext, { allocation, holdingCids }: SetAside): JsonObject {
  const { authorizer = null } = allocation;
  const held = take(registryContext, authorizer, holdingCids, true);
  const back = [...held].map(([id, amount]) => [id, give(registryContext, authorizer, id, amount) ?? ''] as const);
  const outputs = back.map(([, holding]) => holding);
  log(registryContext, { account: authorizer, inputs: holdingCids, outputs, reason: 'unlock' });
  return Object.fromEntries(back.map(([id, holding]) => [id, [holding]]));
}

/** Converts the specification of version 1 to version 2: the sender's side of one leg. */
function ofVersion1(argument: JsonObject, admin: string): Omit<SetAside, 'holdingCids'> {
  const allocationInput = asObject(argument['allocation']) ?? {};
  const {
    executor = '',
    settlementRef,
    settleBefore = null,
    allocateBefore,
    meta = noMeta,
  } = asObject(allocationInput['settlement']) ?? {};
  const leg = asObject(allocationInput['transferLeg']) ?? {};
  const { id, cid } = asObject(settlementRef) ?? {};
  const legDetails = {
    id: asText(allocationInput['transferLegId']),
    amount: asText(leg['amount']),
    instrumentId: textAt(leg, 'instrumentId', 'id'),
    meta: leg['meta'] ?? noMeta,
  };
  return {
    settlement: { executors: [executor], id: id ?? '', cid: cid ?? null, meta },
    allocation: {
      admin,
      authorizer: basicAccount(asText(leg['sender'])),
      transferLegSides: [legSide('SenderSide', legDetails, basicAccount(asText(leg['receiver'])))],
      settlementDeadline: settleBefore,
      nextIterationFunding: null,
      committed: true,
      meta: noMeta,
    },
    requestedAt: asText(argument['requestedAt']),
    allocateBefore: asText(allocateBefore),
  };
}

function viewOfVersion1({ settlement, allocation, holdingCids, requestedAt, allocateBefore }: SetAside): JsonObject {
  const { executors, id, cid = null, meta = noMeta } = settlement;
  const [side = {}] = sidesOf({ allocation });
  return {
    allocation: {
      settlement: {
        executor: asTexts(executors)[0] ?? '',
        settlementRef: { id: id ?? '', cid },
        requestedAt,
        allocateBefore,
        settleBefore: allocation['settlementDeadline'] ?? null,
        meta,
      },
      transferLegId: side['transferLegId'] ?? '',
      transferLeg: {
        sender: ownerOf(allocation['authorizer']),
        receiver: ownerOf(side['otherside']),
        amount: side['amount'] ?? '',
        instrumentId: { admin: allocation['admin'] ?? '', id: side['instrumentId'] ?? '' },
        meta: side['meta'] ?? noMeta,
      },
    },
    holdingCids: [...holdingCids],
    meta: noMeta,
  };
}

function viewOfVersion2(reservation: SetAside): JsonObject {
  const { settlement, allocation, holdingCids, requestedAt } = reservation;
  const executors = asTexts(settlement['executors']);
  const authorizer = ownerOf(allocation['authorizer']);
  const by = { Settle: executors, Cancel: executors, Withdraw: [authorizer] };
  return {
    originalAllocationCid: null,
    settlement,
    allocation,
    holdingCids: [...holdingCids],
    createdAt: requestedAt,
    numIterations: '0',
    expiresAt: allocation['settlementDeadline'] ?? null,
    availableActions: Object.entries(by).map(([action, actors]) => [{ tag: `AA_${action}`, value: {} }, [actors]]),
    meta: noMeta,
  };
}

/** The choices that end allocations of one template, by ending. */
function endings(registry: Registry, { read }: Shape<SetAside>): Record<string, Choice> {
  const choice = (
    output: (held: SetAside, registryContext: ChangeContext, argument: JsonObject) => JsonObject,
    by: Actors,
  ): Choice => ({
    consuming: false,
    interface: interfacesV2.allocation,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => {
      const { contract, argument } = context;
      const reservation = read(contract.createArgument);
      if (!by(reservation).every((party) => asTexts(argument['actors']).includes(party)))
        throw assertionFailed(`only allowed to ${by(reservation).join(', ')}`);
      context.exercise(contract.contractId, 'Archive', {}, contract.signatories);
      return output(reservation, placeIn(context, registry, asText(reservation.allocation['admin'])), argument);
    },
  });
  const executors: Actors = ({ settlement }) => asTexts(settlement['executors']);
  const authorizer: Actors = ({ allocation }) => [ownerOf(allocation['authorizer'])];
  const ended = (tag: string, value: JsonObject, holdings: JsonObject, meta: JsonObject): JsonObject => ({
    output: { tag: `AllocationResult_${tag}`, value },
    authorizerHoldingCids: holdings,
    meta,
  });
  return {
    Allocation_Settle: choice((reservation, registryContext, argument) => {
      const extra = asList(argument['extraTransferLegSides']).map((side) => asObject(side) ?? {});
      const holdings = settle(registryContext, reservation, [...sidesOf(reservation), ...extra]);
      return ended('Settled', { nextIterationAllocationCid: null }, holdings, kindMeta('transfer'));
    }, executors),
    Allocation_Cancel: choice((reservation, registryContext) => {
      return ended('Cancelled', {}, giveBack(registryContext, reservation), kindMeta('unlock'));
    }, executors),
    Allocation_Withdraw: choice((reservation, registryContext) => {
      return ended('Withdrawn', {}, giveBack(registryContext, reservation), kindMeta('unlock'));
    }, authorizer),
  };
}

type Actors = (reservation: SetAside) => readonly string[];

/** Executes the only leg of an allocation of version 1. */
function execute(registryContext: ChangeContext, reservation: SetAside): Json {
  const [side = {}] = sidesOf(reservation);
  const { authorizer = null } = reservation.allocation;
  const { otherside = null, amount, instrumentId, meta = noMeta, transferLegId } = side;
  const kept = settle(registryContext, reservation, [side]);
  const made = give(registryContext, otherside, asText(instrumentId), units(amount));
  const leg = { id: asText(transferLegId), amount: asText(amount), instrumentId: asText(instrumentId), meta };
  log(registryContext, {
    account: otherside,
    inputs: [],
    sides: [legSide('ReceiverSide', leg, authorizer)],
    outputs: [made],
  });
  return {
    senderHoldingCids: Object.values(kept).flatMap((cids) => asTexts(cids)),
    receiverHoldingCids: [made ?? ''],
    meta: kindMeta('transfer', ownerOf(authorizer)),
  };
}

function endingsV1(registry: Registry, { read }: Shape<SetAside>): Record<string, Choice> {
  const all: Choice['controllers'] = (payload) => {
    const { settlement, allocation } = read(payload);
    const [side = {}] = sidesOf({ allocation });
    const [executor = ''] = asTexts(settlement['executors']);
    return [...new Set([executor, ownerOf(allocation['authorizer']), ownerOf(side['otherside'])])];
  };
  const choice = (run: (registryContext: ChangeContext, reservation: SetAside) => Json, controllers = all): Choice => ({
    consuming: true,
    interface: interfaces.allocation,
    controllers,
    run: (context) => {
      const reservation = read(context.contract.createArgument);
      return run(placeIn(context, registry, asText(reservation.allocation['admin'])), reservation);
    },
  });
  const back = (registryContext: ChangeContext, reservation: SetAside): Json => ({
    senderHoldingCids: Object.values(giveBack(registryContext, reservation)).flatMap((cids) => asTexts(cids)),
    meta: kindMeta('unlock', ownerOf(reservation.allocation['authorizer'])),
  });
  return {
    Allocation_ExecuteTransfer: choice(execute),
    Allocation_Cancel: choice(back),
    Allocation_Withdraw: choice(back, (payload) => [ownerOf(read(payload).allocation['authorizer'])]),
  };
}

function template(registry: Registry, shape: Shape<SetAside>, version: 1 | 2): Template {
  const { template: name, read } = shape;
  const version2 = endings(registry, shape);
  const version1 = version === 1 ? endingsV1(registry, shape) : {};
  const names = new Set([...Object.keys(version2), ...Object.keys(version1)]);
  const both = [...names].map((each) => [each, [version2, version1].flatMap((some) => some[each] ?? [])] as const);
  const ofV1 = { name: interfaces.allocation, view: (payload: JsonObject) => viewOfVersion1(read(payload)) };
  return {
    name,
    signatories: (payload) => {
      const { allocation } = read(payload);
      return [asText(allocation['admin']), ownerOf(allocation['authorizer'])];
    },
    observers: (payload) => {
      const { settlement, allocation } = read(payload);
      return [...new Set([...asTexts(settlement['executors']), ...partiesOf(allocation['authorizer'])])];
    },
    interfaces: [
      ...(version === 1 ? [ofV1] : []),
      { name: interfacesV2.allocation, view: (payload) => viewOfVersion2(read(payload)) },
    ],
    choices: Object.fromEntries(both),
  };
}

/** The templates of allocated holdings. */
export function allocationTemplates(registry: Registry): Template[] {
  return [template(registry, registry.allocation, 2), template(registry, registry.allocationV1, 1)];
}

/** Refuses legs that the allocations of the two accounts do not agree on. */
function requireAgreed(legs: readonly Json[], sides: readonly JsonObject[]): void {
  for (const leg of legs) {
    const id = textAt(leg, 'transferLegId');
    const agreed = sides.filter((side) => side['transferLegId'] === id && side['amount'] === textAt(leg, 'amount'));
    if (agreed.length !== 2) throw assertionFailed(`the leg ${id} has ${String(agreed.length)} sides, expected 2`);
  }
  for (const [id, total] of sum(sides)) {
    if (total !== 0n) throw assertionFailed(`the legs of ${id} leave ${formatNumeric(total)}`);
  }
}

function settleBatch(context: ChoiceContext, registry: Registry): Json {
  const { argument } = context;
  const allocations = asList(argument['allocations']);
  const read = (cid: string): SetAside => registry.allocation.read(context.fetch(cid).createArgument);
  const cids = allocations.map((one) => textAt(one, 'allocationCid'));
  requireAgreed(
    asList(argument['transferLegs']),
    cids.flatMap((cid) => sidesOf(read(cid))),
  );
  const { extraArgs = null, actors = [] } = argument;
  const results = allocations.map((one) => {
    const { allocationCid, ...more } = asObject(one) ?? {};
    const choiceArgument = { actors, ...more, extraArgs };
    return context.exercise(
      asText(allocationCid),
      'Allocation_Settle',
      choiceArgument,
      asTexts(actors),
      interfacesV2.allocation,
    );
  });
  return { allocationSettleResults: results, meta: noMeta };
}

/** The choices of the allocation factory, with which users allocate holdings and settle. */
export function allocationFactoryChoices(registry: Registry): Template['choices'] {
  const adminIn = ({ contract }: ChoiceContext): string => textAt(contract.createArgument, 'admin');
  const registryContextOf = (context: ChoiceContext): ChangeContext => placeIn(context, registry, adminIn(context));
  const version2: Choice = {
    consuming: false,
    interface: interfacesV2.allocationFactory,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => {
      const { settlement, allocation, requestedAt, inputHoldingCids } = context.argument;
      const reservation = {
        settlement: asObject(settlement) ?? {},
        allocation: asObject(allocation) ?? {},
        requestedAt: asText(requestedAt),
        allocateBefore: null,
      };
      const where = { place: registryContextOf(context), shape: registry.allocation };
      const { allocationCid, change } = setAside(where, reservation, asTexts(inputHoldingCids));
      const authorizerChangeCids = Object.fromEntries([...change].map(([id, cid]) => [id, [cid]]));
      const output = { tag: 'AllocationInstructionResult_Completed', value: { allocationCid } };
      return { output, authorizerChangeCids, meta: noMeta };
    },
  };
  const version1: Choice = {
    consuming: false,
    interface: interfaces.allocationFactory,
    controllers: (_, argument) => [textAt(argument, 'allocation', 'transferLeg', 'sender')],
    run: (context) => {
      const reservation = ofVersion1(context.argument, adminIn(context));
      const where = { place: registryContextOf(context), shape: registry.allocationV1 };
      const { allocationCid, change } = setAside(where, reservation, asTexts(context.argument['inputHoldingCids']));
      const output = { tag: 'AllocationInstructionResult_Completed', value: { allocationCid } };
      const sender = ownerOf(reservation.allocation['authorizer']);
      return { output, senderChangeCids: [...change.values()], meta: kindMeta('transfer', sender) };
    },
  };
  return {
    AllocationFactory_Allocate: [version2, version1],
    SettlementFactory_SettleBatch: {
      consuming: false,
      interface: interfacesV2.settlementFactory,
      controllers: (_, argument) => asTexts(argument['actors']),
      run: (context) => settleBatch(context, registry),
    },
  };
}
