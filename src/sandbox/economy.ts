/**
 * A small token economy that decides what happens next on a ledger: mints, one- and two-step transfers, answers to
 * pending transfers, burns, contracts that travel between synchronizers, topology. Every step appends exactly one
 * update; the same seed makes the same steps.
 */
import type { Command } from './commands.ts';
import { amulet, stableCoin } from './demo-model.ts';
import type { Instrument } from './demo-model.ts';
import { textAt } from './json.ts';
import type { JsonObject } from './json.ts';
import type { Ledger } from './ledger.ts';
import { entityOf } from './model.ts';
import { Random, partyId } from './random.ts';
import { assign, authorize, unassign } from './reassignments.ts';
import { formatNumeric, formatTimestamp, parseNumeric } from './values.ts';
import type { CreatedEvent, Transaction } from './wire.ts';

interface Market {
  readonly instrument: Instrument;
  readonly admin: string;
  factory: string | undefined;
  /** Contract ids of spendable holdings by owner. */
  readonly holdings: Map<string, string[]>;
}

interface Pending {
  readonly contractId: string;
  readonly sender: string;
  readonly receiver: string;
}

const names = ['alice', 'bob', 'carol', 'dora', 'emil', 'fatima', 'goran', 'hana', 'ivan', 'june', 'kofi', 'lena'];
/** Pending transfers that may pile up before somebody has to answer. */
const pendingLimit = 40;
/** Holdings of one owner above which a transfer merges many of them. */
const manyHoldings = 6;

export class Economy {
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #users: readonly string[];
  readonly #markets: readonly [Market, Market];
  readonly #pending: Pending[] = [];
  /** Reassignment ids under way, and contracts that live on the second synchronizer. */
  readonly #inFlight: string[] = [];
  readonly #abroad: string[] = [];
  #hosted = 0;
  #commands = 0;

  /** @param users how many parties trade; the issuers come on top */
  constructor(ledger: Ledger, seed: number, users: number) {
    this.#ledger = ledger;
    this.#random = new Random(seed);
    this.#users = Array.from({ length: users }, (_, i) => partyId(userName(i), `namespace ${i % 5}`));
    const market = (instrument: Instrument, admin: string): Market => ({
      instrument,
      admin: partyId(admin, admin),
      factory: undefined,
      holdings: new Map(),
    });
    this.#markets = [market(amulet, 'DSO'), market(stableCoin, 'harbor-registrar')];
  }

  /** Makes the next update happen. @param at its effective time, microseconds since 1970 */
  step(at: number): void {
    const draw = this.#random.float();
    if (draw < 0.01) return this.#host(at);
    if (draw < 0.05 && this.#travel(at)) return;
    const market = this.#markets[this.#random.chance(0.6) ? 0 : 1];
    if (market.factory === undefined) return this.#openMarket(market, at);
    if (this.#pending.length > 0 && (draw < 0.2 || this.#pending.length > pendingLimit)) return this.#answer(at);
    if (draw < 0.23 && this.#burn(market, at)) return;
    const sender = this.#user();
    if ((market.holdings.get(sender) ?? []).length === 0 || draw > 0.96) return this.#mint(market, sender, at);
    this.#transfer(market, sender, at);
  }

  #user(): string {
    return this.#users[this.#random.zipf(this.#users.length)] ?? '';
  }

  #submit(command: Command, actAs: string, at: number): void {
    this.#commands += 1;
    const submission = { commands: [command], actAs: [actAs], commandId: `demo-${this.#commands}`, at };
    this.#absorb(this.#ledger.submit(submission));
  }

  /** Learns which holdings and pending transfers a transaction left behind. */
  #absorb({ events }: Transaction): void {
    for (const event of events) {
      if (!('CreatedEvent' in event) || !event.CreatedEvent.acsDelta) continue;
      const created = event.CreatedEvent;
      const name = `${created.packageName}:${entityOf(created.templateId)}`;
      for (const market of this.#markets) this.#learn(market, name, created);
    }
  }

  #learn(market: Market, name: string, { contractId, createArgument: payload }: CreatedEvent): void {
    if (name === market.instrument.factory) market.factory = contractId;
    if (name === market.instrument.instruction) {
      const sender = textAt(payload, 'transfer', 'sender');
      this.#pending.push({ contractId, sender, receiver: textAt(payload, 'transfer', 'receiver') });
    }
    if (name !== market.instrument.holding) return;
    const owner = textAt(payload, 'owner');
    const owned = market.holdings.get(owner);
    if (owned === undefined) market.holdings.set(owner, [contractId]);
    else owned.push(contractId);
  }

  #openMarket({ instrument, admin }: Market, at: number): void {
    const argument = { [instrument.adminField]: admin };
    this.#submit({ kind: 'create', templateId: `#${instrument.factory}`, argument }, admin, at);
  }

  /** A request that is made and granted in one transaction: a transient contract and a new holding. */
  #mint({ instrument, admin }: Market, owner: string, at: number): void {
    const units = BigInt(Math.floor(Math.exp(3 + 4 * this.#random.float()) * 10_000)) * 1_000_000n;
    const argument = { admin, owner, amount: formatNumeric(units), reason: null, round: '17719' };
    const templateId = `#${instrument.mintRequest}`;
    const choice = { choice: 'Mint', choiceArgument: {} };
    this.#submit({ kind: 'create-and-exercise', templateId, argument, ...choice }, admin, at);
  }

  #takeHoldings(market: Market, owner: string): string[] {
    const owned = market.holdings.get(owner) ?? [];
    return owned.splice(0, owned.length > manyHoldings ? owned.length : this.#random.between(1, 3));
  }

  #amountOf(market: Market, contractId: string): bigint {
    const created = this.#ledger.find(contractId)?.created;
    return created === undefined ? 0n : (parseNumeric(market.instrument.amountOf(created.createArgument)) ?? 0n);
  }

  #transfer(market: Market, sender: string, at: number): void {
    const inputHoldingCids = this.#takeHoldings(market, sender);
    const sum = inputHoldingCids.reduce((total, input) => total + this.#amountOf(market, input), 0n);
    const part = (sum * BigInt(this.#random.between(100, 1000))) / 1000n;
    const transfer = {
      sender,
      receiver: this.#user(),
      amount: formatNumeric(part > 0n ? part : sum),
      instrumentId: { admin: market.admin, id: market.instrument.id },
      requestedAt: formatTimestamp(at),
      executeBefore: formatTimestamp(at + 86_400_000_000),
      inputHoldingCids,
      meta: { values: { 'splice.lfdecentralizedtrust.org/reason': `invoice ${this.#commands}` } },
    };
    const preapproved: JsonObject = this.#random.chance(0.7)
      ? { 'transfer-preapproval': { tag: 'AV_Bool', value: true } }
      : {};
    const extraArgs = { context: { values: preapproved }, meta: { values: {} } };
    const argument = { expectedAdmin: market.admin, transfer, extraArgs };
    const contractId = market.factory ?? '';
    this.#submit({ kind: 'exercise', contractId, choice: 'TransferFactory_Transfer', argument }, sender, at);
  }

  #answer(at: number): void {
    const [pending] = this.#pending.splice(this.#random.between(0, this.#pending.length - 1), 1);
    if (pending === undefined) return;
    const { contractId, sender, receiver } = pending;
    const draw = this.#random.float();
    const answer = draw < 0.87 ? 'Accept' : draw < 0.95 ? 'Reject' : 'Withdraw';
    const argument = { extraArgs: { context: { values: {} }, meta: { values: {} } } };
    const choice = `TransferInstruction_${answer}`;
    this.#submit({ kind: 'exercise', contractId, choice, argument }, answer === 'Withdraw' ? sender : receiver, at);
  }

  #burn(market: Market, at: number): boolean {
    const owner = this.#user();
    const contractId = market.holdings.get(owner)?.shift();
    if (contractId === undefined) return false;
    this.#submit({ kind: 'exercise', contractId, choice: 'Token_Burn', argument: { reason: null } }, owner, at);
    return true;
  }

  /** One leg of a journey: out, arrival, or the way back. */
  #travel(at: number): boolean {
    const reassignmentId = this.#inFlight.shift();
    if (reassignmentId !== undefined) {
      const { created, unassigned } = this.#ledger.inFlight(reassignmentId);
      const home = unassigned?.event.target === this.#ledger.synchronizers[0].id;
      assign(this.#ledger, reassignmentId, at);
      const name = `${created.packageName}:${entityOf(created.templateId)}`;
      if (!home) this.#abroad.push(created.contractId);
      else for (const market of this.#markets) this.#learn(market, name, created);
      return true;
    }
    const traveller =
      this.#abroad.length > 3 ? this.#abroad.shift() : this.#markets[1].holdings.get(this.#user())?.shift();
    if (traveller === undefined) return false;
    this.#inFlight.push(unassign(this.#ledger, traveller, at));
    return true;
  }

  #host(at: number): void {
    const party = this.#users[this.#hosted % this.#users.length] ?? '';
    const revoked = this.#hosted >= this.#users.length && this.#random.chance(0.3);
    authorize(this.#ledger, party, !revoked, at);
    this.#hosted += 1;
  }
}

function userName(index: number): string {
  const name = names[index % names.length] ?? 'user';
  return index < names.length ? name : `${name}-${Math.floor(index / names.length)}`;
}
