/**
 * Settlements with both versions of the token standard: holdings are allocated, and then all holdings of a settlement
 * move at once.
 */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asList, asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { formatNumeric } from '../../wire/values.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { kindMeta, emptyMetadata } from '../templates/metadata.ts';
import { interfaces, interfacesV2 } from '../templates/names.ts';
import { basicAccount, ownerOf, partiesOf } from './accounts.ts';
import { createHolding, legSide, log, contextIn, takeHoldings, units } from './holdings-change.ts';
import type { ChangeContext, AmountsByInstrument } from './holdings-change.ts';
import type { Registry, Reservation, Shape } from './registry.ts';

function sidesOf({ allocation }: Pick<Reservation, 'allocation'>): JsonObject[] {
  return asList(allocation['transferLegSides']).map((side) => asObject(side) ?? {});
}

/**
 * By instrument: the amount that an account receives minus the amount that it gives.
 * @param sideFilter counts only one of the two sides
 */
function sum(legSides: readonly JsonObject[], sideFilter?: 'SenderSide' | 'ReceiverSide'): AmountsByInstrument {
  const sums: AmountsByInstrument = new Map();
  for (const { side, amount, instrumentId } of legSides) {
    if (sideFilter !== undefined && side !== sideFilter) continue;
    const id = asText(instrumentId);
    sums.set(id, (sums.get(id) ?? 0n) + (side === 'SenderSide' ? -1n : 1n) * units(amount));
  }
  return sums;
}

/** Locks the amounts that an account gives. Returns the allocation, and the change by instrument. */
function reserveFunds(
  { place: scope, shape }: { readonly place: ChangeContext; readonly shape: Shape<Reservation> },
  reservation: Omit<Reservation, 'holdingCids'>,
  inputs: readonly string[],
): { readonly allocationCid: string; readonly change: ReadonlyMap<string, string> } {
  const { authorizer = null, settlementDeadline } = reservation.allocation;
  const senderSums = sum(sidesOf(reservation), 'SenderSide');
  const inputSums = takeHoldings(scope, authorizer, inputs);
  const reason = `allocation for ${asText(reservation.settlement['id'])}`;
  const lock = {
    holders: [scope.admin, ownerOf(authorizer)],
    expiresAt: settlementDeadline ?? null,
    expiresAfter: null,
    context: reason,
  };
  const lockedHoldings: string[] = [];
  const change = new Map<string, string>();
  for (const id of new Set([...senderSums.keys(), ...inputSums.keys()])) {
    const outgoingAmount = -(senderSums.get(id) ?? 0n);
    const changeHolding = createHolding(scope, authorizer, id, (inputSums.get(id) ?? 0n) - outgoingAmount);
    if (changeHolding !== undefined) change.set(id, changeHolding);
    const newHolding = createHolding(scope, authorizer, id, outgoingAmount, lock);
    if (newHolding !== undefined) lockedHoldings.push(newHolding);
  }
  const outputs = [...lockedHoldings, ...change.values()];
  log(scope, { account: authorizer, inputs, outputs, reason: `lock for ${reason}` });
  const payload = shape.write({ ...reservation, holdingCids: lockedHoldings });
  return { allocationCid: scope.context.create(shape.template, payload), change };
}

/**
 * Ends the allocations of an account, and gives it the amounts that it receives. The legs of the account are logged.
 */
function settle(
  scope: ChangeContext,
  { allocation, holdingCids }: Reservation,
  legSides: readonly JsonObject[],
): JsonObject {
  const { authorizer = null } = allocation;
  const inputSums = takeHoldings(scope, authorizer, holdingCids, true);
  const dueAmounts = sum(legSides);
  const newHoldings = new Map<string, string>();
  for (const id of new Set([...inputSums.keys(), ...dueAmounts.keys()])) {
    const holding = createHolding(scope, authorizer, id, (inputSums.get(id) ?? 0n) + (dueAmounts.get(id) ?? 0n));
    if (holding !== undefined) newHoldings.set(id, holding);
  }
  log(scope, {
    account: authorizer,
    inputs: holdingCids,
    sides: legSides,
    outputs: [...newHoldings.values()],
  });
  return Object.fromEntries([...newHoldings].map(([id, holding]) => [id, [holding]]));
}

function returnFunds(scope: ChangeContext, { allocation, holdingCids }: Reservation): JsonObject {
  const { authorizer = null } = allocation;
  const inputSums = takeHoldings(scope, authorizer, holdingCids, true);
  const returnedHoldings = [...inputSums].map(
    ([id, amount]) => [id, createHolding(scope, authorizer, id, amount) ?? ''] as const,
  );
  const outputs = returnedHoldings.map(([, holding]) => holding);
  log(scope, { account: authorizer, inputs: holdingCids, outputs, reason: 'unlock' });
  return Object.fromEntries(returnedHoldings.map(([id, holding]) => [id, [holding]]));
}

/** Converts the specification of version 1 to version 2: the sender's side of one leg. */
function allocationFromV1(argument: JsonObject, admin: string): Omit<Reservation, 'holdingCids'> {
  const allocationInput = asObject(argument['allocation']) ?? {};
  const {
    executor = '',
    settlementRef,
    settleBefore = null,
    allocateBefore,
    meta = emptyMetadata,
  } = asObject(allocationInput['settlement']) ?? {};
  const leg = asObject(allocationInput['transferLeg']) ?? {};
  const { id, cid } = asObject(settlementRef) ?? {};
  const legDetails = {
    id: asText(allocationInput['transferLegId']),
    amount: asText(leg['amount']),
    instrumentId: textAt(leg, 'instrumentId', 'id'),
    meta: leg['meta'] ?? emptyMetadata,
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
      meta: emptyMetadata,
    },
    requestedAt: asText(argument['requestedAt']),
    allocateBefore: asText(allocateBefore),
  };
}

function viewOfVersion1({ settlement, allocation, holdingCids, requestedAt, allocateBefore }: Reservation): JsonObject {
  const { executors, id, cid = null, meta = emptyMetadata } = settlement;
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
        meta: side['meta'] ?? emptyMetadata,
      },
    },
    holdingCids: [...holdingCids],
    meta: emptyMetadata,
  };
}

function viewOfVersion2(reservation: Reservation): JsonObject {
  const { settlement, allocation, holdingCids, requestedAt } = reservation;
  const executors = asTexts(settlement['executors']);
  const authorizer = ownerOf(allocation['authorizer']);
  const actorsByChoice = { Settle: executors, Cancel: executors, Withdraw: [authorizer] };
  return {
    originalAllocationCid: null,
    settlement,
    allocation,
    holdingCids: [...holdingCids],
    createdAt: requestedAt,
    numIterations: '0',
    expiresAt: allocation['settlementDeadline'] ?? null,
    availableActions: Object.entries(actorsByChoice).map(([action, actors]) => [
      { tag: `AA_${action}`, value: {} },
      [actors],
    ]),
    meta: emptyMetadata,
  };
}

/** The choices that end allocations of one template, by ending. */
function endingChoices(registry: Registry, { read: readPayload }: Shape<Reservation>): Record<string, Choice> {
  const choice = (
    output: (reservation: Reservation, scope: ChangeContext, argument: JsonObject) => JsonObject,
    actors: Actors,
  ): Choice => ({
    consuming: false,
    interface: interfacesV2.allocation,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => {
      const { contract, argument } = context;
      const reservation = readPayload(contract.createArgument);
      if (!actors(reservation).every((party) => asTexts(argument['actors']).includes(party)))
        throw assertionFailed(`only allowed to ${actors(reservation).join(', ')}`);
      context.exercise(contract.contractId, 'Archive', {}, contract.signatories);
      return output(reservation, contextIn(context, registry, asText(reservation.allocation['admin'])), argument);
    },
  });
  const executors: Actors = ({ settlement }) => asTexts(settlement['executors']);
  const authorizer: Actors = ({ allocation }) => [ownerOf(allocation['authorizer'])];
  const endedResult = (tag: string, value: JsonObject, holdings: JsonObject, meta: JsonObject): JsonObject => ({
    output: { tag: `AllocationResult_${tag}`, value },
    authorizerHoldingCids: holdings,
    meta,
  });
  return {
    Allocation_Settle: choice((reservation, scope, argument) => {
      const extraSides = asList(argument['extraTransferLegSides']).map((side) => asObject(side) ?? {});
      const holdings = settle(scope, reservation, [...sidesOf(reservation), ...extraSides]);
      return endedResult('Settled', { nextIterationAllocationCid: null }, holdings, kindMeta('transfer'));
    }, executors),
    Allocation_Cancel: choice((reservation, scope) => {
      return endedResult('Cancelled', {}, returnFunds(scope, reservation), kindMeta('unlock'));
    }, executors),
    Allocation_Withdraw: choice((reservation, scope) => {
      return endedResult('Withdrawn', {}, returnFunds(scope, reservation), kindMeta('unlock'));
    }, authorizer),
  };
}

type Actors = (reservation: Reservation) => readonly string[];

/** Executes the only leg of an allocation of version 1. */
function execute(scope: ChangeContext, reservation: Reservation): Json {
  const [side = {}] = sidesOf(reservation);
  const { authorizer = null } = reservation.allocation;
  const { otherside = null, amount, instrumentId, meta = emptyMetadata, transferLegId } = side;
  const keptHoldings = settle(scope, reservation, [side]);
  const newHolding = createHolding(scope, otherside, asText(instrumentId), units(amount));
  const leg = { id: asText(transferLegId), amount: asText(amount), instrumentId: asText(instrumentId), meta };
  log(scope, {
    account: otherside,
    inputs: [],
    sides: [legSide('ReceiverSide', leg, authorizer)],
    outputs: [newHolding],
  });
  return {
    senderHoldingCids: Object.values(keptHoldings).flatMap((cids) => asTexts(cids)),
    receiverHoldingCids: [newHolding ?? ''],
    meta: kindMeta('transfer', ownerOf(authorizer)),
  };
}

function endingsV1(registry: Registry, { read: readPayload }: Shape<Reservation>): Record<string, Choice> {
  const allControllers: Choice['controllers'] = (payload) => {
    const { settlement, allocation } = readPayload(payload);
    const [side = {}] = sidesOf({ allocation });
    const [executor = ''] = asTexts(settlement['executors']);
    return [...new Set([executor, ownerOf(allocation['authorizer']), ownerOf(side['otherside'])])];
  };
  const choice = (
    run: (scope: ChangeContext, reservation: Reservation) => Json,
    controllers = allControllers,
  ): Choice => ({
    consuming: true,
    interface: interfaces.allocation,
    controllers,
    run: (context) => {
      const reservation = readPayload(context.contract.createArgument);
      return run(contextIn(context, registry, asText(reservation.allocation['admin'])), reservation);
    },
  });
  const returnedHoldings = (scope: ChangeContext, reservation: Reservation): Json => ({
    senderHoldingCids: Object.values(returnFunds(scope, reservation)).flatMap((cids) => asTexts(cids)),
    meta: kindMeta('unlock', ownerOf(reservation.allocation['authorizer'])),
  });
  return {
    Allocation_ExecuteTransfer: choice(execute),
    Allocation_Cancel: choice(returnedHoldings),
    Allocation_Withdraw: choice(returnedHoldings, (payload) => [
      ownerOf(readPayload(payload).allocation['authorizer']),
    ]),
  };
}

function template(registry: Registry, shape: Shape<Reservation>, version: 1 | 2): Template {
  const { template: name, read: readPayload } = shape;
  const version2 = endingChoices(registry, shape);
  const version1 = version === 1 ? endingsV1(registry, shape) : {};
  const names = new Set([...Object.keys(version2), ...Object.keys(version1)]);
  const choicesByName = [...names].map(
    (choiceName) => [choiceName, [version2, version1].flatMap((choiceSet) => choiceSet[choiceName] ?? [])] as const,
  );
  const viewV1 = { name: interfaces.allocation, view: (payload: JsonObject) => viewOfVersion1(readPayload(payload)) };
  return {
    name,
    signatories: (payload) => {
      const { allocation } = readPayload(payload);
      return [asText(allocation['admin']), ownerOf(allocation['authorizer'])];
    },
    observers: (payload) => {
      const { settlement, allocation } = readPayload(payload);
      return [...new Set([...asTexts(settlement['executors']), ...partiesOf(allocation['authorizer'])])];
    },
    interfaces: [
      ...(version === 1 ? [viewV1] : []),
      { name: interfacesV2.allocation, view: (payload) => viewOfVersion2(readPayload(payload)) },
    ],
    choices: Object.fromEntries(choicesByName),
  };
}

/** The templates of allocated holdings. */
export function allocationTemplates(registry: Registry): Template[] {
  return [template(registry, registry.allocation, 2), template(registry, registry.allocationV1, 1)];
}

/** Refuses legs that the allocations of the two accounts do not agree on. */
function requireAgreed(legs: readonly Json[], legSides: readonly JsonObject[]): void {
  for (const leg of legs) {
    const id = textAt(leg, 'transferLegId');
    const agreed = legSides.filter((side) => side['transferLegId'] === id && side['amount'] === textAt(leg, 'amount'));
    if (agreed.length !== 2) throw assertionFailed(`the leg ${id} has ${String(agreed.length)} sides, expected 2`);
  }
  for (const [id, total] of sum(legSides)) {
    if (total !== 0n) throw assertionFailed(`the legs of ${id} leave ${formatNumeric(total)}`);
  }
}

function settleBatch(context: ChoiceContext, registry: Registry): Json {
  const { argument } = context;
  const allocations = asList(argument['allocations']);
  const readReservation = (cid: string): Reservation => registry.allocation.read(context.fetch(cid).createArgument);
  const cids = allocations.map((allocation) => textAt(allocation, 'allocationCid'));
  requireAgreed(
    asList(argument['transferLegs']),
    cids.flatMap((cid) => sidesOf(readReservation(cid))),
  );
  const { extraArgs = null, actors = [] } = argument;
  const results = allocations.map((allocation) => {
    const { allocationCid, ...allocationFields } = asObject(allocation) ?? {};
    const choiceArgument = { actors, ...allocationFields, extraArgs };
    return context.exercise(
      asText(allocationCid),
      'Allocation_Settle',
      choiceArgument,
      asTexts(actors),
      interfacesV2.allocation,
    );
  });
  return { allocationSettleResults: results, meta: emptyMetadata };
}

/** The choices of the allocation factory, with which users allocate holdings and settle. */
export function allocationFactoryChoices(registry: Registry): Template['choices'] {
  const adminIn = ({ contract }: ChoiceContext): string => textAt(contract.createArgument, 'admin');
  const registryContextOf = (context: ChoiceContext): ChangeContext => contextIn(context, registry, adminIn(context));
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
      const registryParts = { place: registryContextOf(context), shape: registry.allocation };
      const { allocationCid, change } = reserveFunds(registryParts, reservation, asTexts(inputHoldingCids));
      const authorizerChangeCids = Object.fromEntries([...change].map(([id, cid]) => [id, [cid]]));
      const output = { tag: 'AllocationInstructionResult_Completed', value: { allocationCid } };
      return { output, authorizerChangeCids, meta: emptyMetadata };
    },
  };
  const version1: Choice = {
    consuming: false,
    interface: interfaces.allocationFactory,
    controllers: (_, argument) => [textAt(argument, 'allocation', 'transferLeg', 'sender')],
    run: (context) => {
      const reservation = allocationFromV1(context.argument, adminIn(context));
      const registryParts = { place: registryContextOf(context), shape: registry.allocationV1 };
      const { allocationCid, change } = reserveFunds(
        registryParts,
        reservation,
        asTexts(context.argument['inputHoldingCids']),
      );
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
