/** Runs user flows with the published test tokens in both versions of the token standard, and lists their movements. */
import { noMeta, reasonMeta } from '../../../packages/ledger-sandbox/src/demo/templates/metadata.ts';
import { interfaces, interfacesV2 } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { asText } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Json, JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { CreatedEvent, Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import { published } from './published-models.ts';

const [admin, alice, bob, venue] = ['admin', 'alice', 'bob', 'venue'];
const until = '2027-01-01T00:00:00Z';
const requestTime = '2026-01-05T08:00:00Z';

const account = (owner: string | null, provider: string | null = null, id = ''): JsonObject => ({
  owner,
  provider,
  id,
});
const dollars = { admin, id: 'USD' };
const euros = { admin, id: 'EUR' };
/** Instrument of the token that implements only version 1. */
const pounds = { admin, id: 'GBP' };

/** Exercises choices of the templates as their users do. */
export class Flows {
  readonly #sandbox: Sandbox;
  readonly #rules: Readonly<Record<'v1' | 'v2', string>>;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    const rules = (template: string): string => sandbox.ledger.create(`#${template}`, { admin }, [admin]).contractId;
    this.#rules = { v1: rules(published.rulesV1), v2: rules(published.rulesV2) };
  }

  get #extraArgs(): JsonObject {
    const context = { 'testTokenV2/tokenRules': { tag: 'AV_ContractId', value: this.#rules.v2 } };
    return { context: { values: context }, meta: noMeta };
  }

  #exercise(by: string, contractId: string, declaredBy: string, choice: string, argument: JsonObject): Transaction {
    const exercise = { kind: 'exercise', contractId, templateId: `#${declaredBy}`, choice, argument } as const;
    return this.#sandbox.ledger.submit({ commands: [exercise], actAs: [by] });
  }

  /** The unlocked holdings of an account. */
  #free(owner: JsonObject, instrumentId: JsonObject): string[] {
    return this.#active('TestTokenV2.Holding:Token')
      .filter(({ createArgument: { holding } }) => {
        const { account: of, instrumentId: what, lock } = holding as Record<string, Json>;
        return lock === null && isSame(of, owner) && isSame(what, instrumentId);
      })
      .map(({ contractId }) => contractId);
  }

  #active(entity: string): readonly CreatedEvent[] {
    const all = [...this.#sandbox.ledger.activeAt(this.#sandbox.ledger.ledgerEnd())];
    return all.map(({ activation }) => activation.created).filter(({ templateId }) => templateId.endsWith(entity));
  }

  mint(to: JsonObject, amount: string, instrumentId = dollars): void {
    const config = { canInitiate: true, mustApprove: true };
    const receiverConfig = { admin, account: to, ownerConfig: config, providerConfig: config };
    const argument = { receiver: to, amount, instrumentId, offeredAt: requestTime, receiverConfig };
    const offer = this.#sandbox.ledger.exercise(this.#rules.v2, 'TokenRules_OfferMint', argument, [admin]);
    this.answer(2, 'Accept', asText(to['owner']), made(offer, published.offerV2));
  }

  answer(version: 1 | 2, action: 'Accept' | 'Reject' | 'Withdraw', by: string, offer: string): void {
    const { transferInstruction } = version === 1 ? interfaces : interfacesV2;
    const extraArgs = this.#extraArgs;
    const argument = version === 1 ? { extraArgs } : { actors: [by], extraArgs };
    this.#exercise(by, offer, transferInstruction, `TransferInstruction_${action}`, argument);
  }

  /** Offers a transfer. @returns the contract id of the offer; '' for an immediate transfer */
  offer(version: 1 | 2, sender: JsonObject, receiver: JsonObject, amount: string, reason = ''): string {
    const [from, to] = version === 1 ? [sender['owner'], receiver['owner']] : [sender, receiver];
    const transfer = {
      sender: from ?? '',
      receiver: to ?? '',
      amount,
      instrumentId: dollars,
      requestedAt: requestTime,
      executeBefore: until,
      inputHoldingCids: this.#free(sender, dollars),
      meta: reason === '' ? noMeta : reasonMeta(reason),
    };
    const by = asText(sender['owner']);
    const extraArgs = this.#extraArgs;
    const argument =
      version === 1 ? { expectedAdmin: admin, transfer, extraArgs } : { transfer, actors: [by], extraArgs };
    const { transferFactory } = version === 1 ? interfaces : interfacesV2;
    return made(
      this.#exercise(by, this.#rules.v2, transferFactory, 'TransferFactory_Transfer', argument),
      published.offerV2,
    );
  }

  /** Exchanges two instruments: both parties allocate their holdings, and the venue settles. */
  exchange(first: JsonObject, second: JsonObject, give: string, take: string): void {
    const settlement = { executors: [venue], id: 'fx-1', cid: null, meta: noMeta };
    const legs = [
      { id: 'give', sender: first, receiver: second, amount: give, instrumentId: dollars },
      { id: 'take', sender: second, receiver: first, amount: take, instrumentId: euros },
    ];
    const cids = [first, second].map((authorizer, index) => {
      const sides = legs.map(({ id, sender, receiver, amount, instrumentId }) => ({
        transferLegId: id,
        side: isSame(sender, authorizer) ? 'SenderSide' : 'ReceiverSide',
        otherside: isSame(sender, authorizer) ? receiver : sender,
        amount,
        instrumentId: instrumentId.id,
        meta: noMeta,
      }));
      const allocation = {
        admin,
        authorizer,
        transferLegSides: sides,
        settlementDeadline: until,
        nextIterationFunding: null,
        committed: true,
        meta: noMeta,
      };
      const inputHoldingCids = this.#free(authorizer, index === 0 ? dollars : euros);
      const by = asText(authorizer['owner']);
      const argument = {
        settlement,
        allocation,
        requestedAt: requestTime,
        inputHoldingCids,
        extraArgs: this.#extraArgs,
      };
      const fullArgument = { ...argument, actors: [by] };
      const { allocationFactory } = interfacesV2;
      return made(
        this.#exercise(by, this.#rules.v2, allocationFactory, 'AllocationFactory_Allocate', fullArgument),
        published.allocationV2,
      );
    });
    const transferLegs = legs.map(({ id, instrumentId, ...leg }) => {
      return { transferLegId: id, ...leg, instrumentId: instrumentId.id, meta: noMeta };
    });
    const allocations = cids.map((allocationCid) => {
      return { allocationCid, extraTransferLegSides: [], nextIterationFunding: null };
    });
    const argument = { settlement, transferLegs, allocations, actors: [venue], extraArgs: this.#extraArgs };
    const { settlementFactory } = interfacesV2;
    this.#exercise(venue, this.#rules.v2, settlementFactory, 'SettlementFactory_SettleBatch', argument);
  }

  #allocationOfVersion1(sender: string, receiver: string, amount: string, instrumentId: JsonObject): JsonObject {
    const settlement = {
      executor: venue,
      settlementRef: { id: 'dvp-1', cid: null },
      requestedAt: requestTime,
      allocateBefore: until,
      settleBefore: until,
      meta: noMeta,
    };
    return { settlement, transferLegId: 'leg', transferLeg: { sender, receiver, amount, instrumentId, meta: noMeta } };
  }

  /**
   * Allocates and executes a leg by version 1, with the token that implements both versions or with the token that
   * implements only version 1.
   */
  execute(rules: 'v1' | 'v2', sender: string, receiver: string, amount: string, inputs?: readonly string[]): void {
    const instrumentId = rules === 'v1' ? pounds : dollars;
    const allocation = this.#allocationOfVersion1(sender, receiver, amount, instrumentId);
    const inputHoldingCids = inputs ?? this.#free(account(sender), instrumentId);
    const extraArgs = this.#extraArgs;
    const argument = { expectedAdmin: admin, allocation, requestedAt: requestTime, inputHoldingCids, extraArgs };
    const { allocationFactory } = interfaces;
    const template = rules === 'v1' ? published.ownAllocationV1 : published.allocationV1;
    const cid = made(
      this.#exercise(sender, this.#rules[rules], allocationFactory, 'AllocationFactory_Allocate', argument),
      template,
    );
    const { allocation: declaredBy } = interfaces;
    const choice = 'Allocation_ExecuteTransfer';
    const exercise = { kind: 'exercise', contractId: cid, templateId: `#${declaredBy}`, choice } as const;
    this.#sandbox.ledger.submit({
      commands: [{ ...exercise, argument: { extraArgs } }],
      actAs: [venue, sender, receiver],
    });
  }

  /** The flows of the token that implements only version 1. */
  ofVersion1(): void {
    const { ledger } = this.#sandbox;
    const instrumentId = pounds;
    const token = (amount: string): string => {
      const holding = { owner: alice, instrumentId, amount, lock: null, meta: noMeta };
      return ledger.create(`#${published.tokenV1}`, { holding }, [admin, alice]).contractId;
    };
    const transfer = (inputs: readonly string[], amount: string): JsonObject => ({
      sender: alice,
      receiver: bob,
      amount,
      instrumentId,
      requestedAt: requestTime,
      executeBefore: until,
      inputHoldingCids: [...inputs],
      meta: noMeta,
    });
    const extraArgs = this.#extraArgs;
    const offer = (request: JsonObject): string => {
      const argument = { expectedAdmin: admin, transfer: request, extraArgs };
      const { transferFactory } = interfaces;
      return made(
        this.#exercise(alice, this.#rules.v1, transferFactory, 'TransferFactory_Transfer', argument),
        published.offerV1,
      );
    };
    this.answer(1, 'Accept', bob, offer(transfer([token('20.0000000000')], '7.5000000000')));
    this.answer(1, 'Reject', bob, offer(transfer([token('3.0000000000')], '3.0000000000')));
    this.execute('v1', alice, bob, '1.2500000000', [token('2.0000000000')]);
    // A burn without a burn request.
    ledger.exercise(token('0.5000000000'), 'Archive', {}, [admin, alice]);
  }
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The first contract of a template that a transaction created; '' if there is none. */
function made({ events }: Transaction, template: string): string {
  const entity = template.slice(template.indexOf(':'));
  for (const event of events) {
    if ('CreatedEvent' in event && event.CreatedEvent.templateId.endsWith(entity)) return event.CreatedEvent.contractId;
  }
  return '';
}

const custody = account(bob, venue, 'custody');

/** Runs every flow. The expected movements are in `movements`. */
export function play(flows: Flows): void {
  const [ofAlice, ofBob] = [account(alice), account(bob)];
  flows.mint(ofAlice, '100.0000000000');
  flows.mint(ofBob, '50.5000000000', euros);
  flows.answer(2, 'Accept', bob, flows.offer(2, ofAlice, ofBob, '10.2500000000', 'rent'));
  flows.answer(2, 'Reject', bob, flows.offer(2, ofAlice, ofBob, '1.0000000000'));
  flows.answer(2, 'Withdraw', alice, flows.offer(2, ofAlice, ofBob, '2.0000000000'));
  flows.answer(1, 'Accept', bob, flows.offer(1, ofAlice, ofBob, '3.5000000000', 'by version 1'));
  flows.answer(1, 'Reject', bob, flows.offer(1, ofAlice, ofBob, '4.5000000000'));
  flows.answer(1, 'Accept', alice, flows.offer(2, ofBob, ofAlice, '0.0000000001'));
  flows.offer(2, ofAlice, ofAlice, '5.0000000000');
  flows.answer(2, 'Accept', bob, flows.offer(2, ofAlice, custody, '6.0000000000', 'to custody'));
  flows.exchange(ofAlice, ofBob, '20.0000000000', '18.5000000000');
  flows.execute('v2', alice, bob, '2.2500000000');
  flows.ofVersion1();
  flows.offer(2, ofAlice, custody, '0.7500000000');
}

/** The movements in ledger order: kind, basis, from, to, amount, reason. */
export const movements = [
  'mint event  alice 100.0000000000 USD mint offer',
  'mint event  bob 50.5000000000 EUR mint offer',
  'transfer event alice bob 10.2500000000 USD rent',
  'transfer event alice bob 3.5000000000 USD by version 1',
  'transfer event bob alice 0.0000000001 USD ',
  'transfer event alice alice 5.0000000000 USD ',
  'transfer event alice bob 6.0000000000 USD to custody',
  'transfer event bob alice 18.5000000000 EUR ',
  'transfer event alice bob 20.0000000000 USD ',
  'transfer event alice bob 2.2500000000 USD ',
  'mint holdings  alice 20.0000000000 GBP ',
  'transfer choice alice bob 7.5000000000 GBP ',
  'mint holdings  alice 3.0000000000 GBP ',
  'mint holdings  alice 2.0000000000 GBP ',
  'transfer choice alice bob 1.2500000000 GBP ',
  'mint holdings  alice 0.5000000000 GBP ',
  'burn holdings alice  0.5000000000 GBP ',
];
