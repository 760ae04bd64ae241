/**
 * An independent model of token events: the names that the updates of a sandbox ledger should have, from raw payloads and
 * choices. It uses fields of the demo templates, but no views and no SQL.
 */
import { nameOf } from '../../packages/ledger-sandbox/src/demo/templates/funds.ts';
import { instrumentOf } from '../../packages/ledger-sandbox/src/demo/templates/instruments.ts';
import type { Ledger } from '../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { CreatedEvent, ExercisedEvent } from '../../packages/ledger-sandbox/src/wire/wire.ts';
import { units } from '../read/tokens/token-books.ts';

type Payload = Readonly<Record<string, unknown>>;

interface Request {
  readonly kind: 'transfer' | 'allocation';
  readonly deadline: string;
  /** Sender, receiver and amount of a transfer; empty for an allocation. */
  readonly details: string;
}

interface Lockable {
  readonly isLocked: boolean;
  readonly key: string;
  readonly units: bigint;
}

/** `OFFSET-NODE NAME DETAILS` of each event except mints and burns. */
export interface ExpectedEvents {
  readonly names: readonly string[];
  /** Change of the supply by `OFFSET INSTRUMENT`, without zeros. */
  readonly supply: ReadonlyMap<string, bigint>;
}

const endings: Readonly<Record<string, string>> = {
  TransferInstruction_Accept: 'transfer.accepted',
  TransferInstruction_Reject: 'transfer.rejected',
  TransferInstruction_Withdraw: 'transfer.withdrawn',
  Allocation_ExecuteTransfer: 'allocation.settled',
  Allocation_Settle: 'allocation.settled',
  Allocation_Cancel: 'allocation.cancelled',
  Allocation_Withdraw: 'allocation.withdrawn',
};

export function expectedEvents(ledger: Ledger): ExpectedEvents {
  const model = new TokenEventModel();
  for (const { offset, update } of ledger.range(0, ledger.ledgerEnd(), 1e6)) {
    if (update === undefined || !('Transaction' in update)) continue;
    model.transaction(offset, update.Transaction.value);
  }
  return { names: model.names, supply: new Map([...model.supply].filter(([, change]) => change !== 0n)) };
}

interface Transaction {
  readonly effectiveAt: string;
  readonly events: readonly object[];
}

class TokenEventModel {
  readonly names: string[] = [];
  readonly supply = new Map<string, bigint>();
  readonly #requests = new Map<string, Request>();
  readonly #holdings = new Map<string, Lockable>();

  transaction(offset: number, { effectiveAt, events }: Transaction): void {
    let outer: { readonly contractId: string; readonly last: number } | undefined;
    for (const event of events) {
      if ('CreatedEvent' in event) this.#created(offset, event.CreatedEvent as CreatedEvent);
      if (!('ExercisedEvent' in event)) continue;
      const exercised = event.ExercisedEvent as ExercisedEvent;
      const { contractId, nodeId, lastDescendantNodeId: last } = exercised;
      const isInside = outer !== undefined && nodeId <= outer.last && outer.contractId === contractId;
      if (!isInside && endings[exercised.choice] !== undefined) outer = { contractId, last };
      this.#exercised(offset, exercised, { effectiveAt, isInside });
    }
  }

  #created(offset: number, created: CreatedEvent): void {
    const { contractId, nodeId, createArgument: payload } = created;
    const request = requestOf(nameOf(created), payload);
    if (request !== undefined) {
      this.#requests.set(contractId, request);
      this.#add(offset, nodeId, `${request.kind}.pending`, request.details);
    }
    const instrument = instrumentOf(nameOf(created), payload);
    if (instrument === undefined) return;
    const { lock, amount, owner } = instrument.read(payload);
    const holding = { isLocked: lock !== null, key: `${String(offset)} ${instrument.id}`, units: units(amount) };
    this.#holdings.set(contractId, holding);
    this.#supply(holding.key, holding.units);
    if (holding.isLocked) this.#add(offset, nodeId, 'holding.locked', `${owner} ${amount}`);
  }

  #exercised(
    offset: number,
    { contractId, nodeId, choice, consuming, choiceArgument, exerciseResult }: ExercisedEvent,
    { effectiveAt, isInside }: { readonly effectiveAt: string; readonly isInside: boolean },
  ): void {
    const request = this.#requests.get(contractId);
    const ending = endings[choice];
    if (request !== undefined && ending !== undefined && !isInside) this.#add(offset, nodeId, ending, request.details);
    if (request !== undefined && choice === 'Archive' && !isInside) {
      const isLate = Date.parse(effectiveAt) >= Date.parse(request.deadline);
      this.#add(offset, nodeId, `${request.kind}.${isLate ? 'expired' : 'ended'}`, request.details);
    }
    if (choice === 'TransferFactory_Transfer') this.#transferred(offset, nodeId, choiceArgument, exerciseResult);
    const holding = this.#holdings.get(contractId);
    if (holding === undefined || !consuming) return;
    this.#supply(`${String(offset)} ${holding.key.slice(holding.key.indexOf(' ') + 1)}`, -holding.units);
    if (holding.isLocked) this.#add(offset, nodeId, 'holding.unlocked', '');
  }

  /** A transfer in one step. A purchase of traffic has no holding for its receiver. */
  #transferred(offset: number, nodeId: number, argument: unknown, result: unknown): void {
    const transfer = (argument as { transfer: Payload }).transfer;
    const { tag, value } = (result as { output: { tag: string; value: { receiverHoldingCids?: readonly string[] } } })
      .output;
    if (!tag.endsWith('_Completed') || value.receiverHoldingCids?.length === 0) return;
    if (JSON.stringify(transfer['sender']) === JSON.stringify(transfer['receiver'])) return;
    this.#add(offset, nodeId, 'transfer.completed', detailsOf(transfer));
  }

  #add(offset: number, nodeId: number, name: string, details: string): void {
    this.names.push(`${String(offset)}-${String(nodeId)} ${name} ${details}`.trim());
  }

  #supply(key: string, change: bigint): void {
    this.supply.set(key, (this.supply.get(key) ?? 0n) + change);
  }
}

function requestOf(template: string, payload: Payload): Request | undefined {
  const entity = template.slice(template.lastIndexOf(':') + 1);
  if (/Transfer(?:Instruction)?$/.test(entity) && payload['transfer'] !== undefined) {
    const transfer = payload['transfer'] as Payload;
    return { kind: 'transfer', deadline: String(transfer['executeBefore']), details: detailsOf(transfer) };
  }
  if (!entity.endsWith('Allocation')) return undefined;
  const body = (payload['setAside'] ?? payload) as {
    allocation: { settlement?: Payload; settlementDeadline?: string };
  };
  const { settlement, settlementDeadline } = body.allocation;
  return { kind: 'allocation', deadline: String(settlementDeadline ?? settlement?.['settleBefore']), details: '' };
}

function detailsOf({ sender, receiver, amount }: Payload): string {
  const owner = (account: unknown): string =>
    typeof account === 'string' ? account : ((account as { owner: string | null }).owner ?? '-');
  return `${owner(sender)} ${owner(receiver)} ${String(amount)}`;
}
