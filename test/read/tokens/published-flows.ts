/** Runs user flows with the published test tokens in both versions of the token standard, and lists their movements. */
import { emptyMetadata, reasonMeta } from '../../../packages/ledger-sandbox/src/demo/templates/metadata.ts';
import { interfaces, interfacesV2 } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { asText } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { Json, JsonObject } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import type { CreatedEvent, Transaction } from '../../../packages/ledger-sandbox/src/wire/wire.ts';
import { publishedNames } from './published-models.ts';

const [admin, alice, bob, venue] = ['admin', 'alice', 'bob', 'venue'];
const expiryTime = '2027-01-01T00:00:00Z';
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
export class TokenFlows {
  readonly #sandbox: Sandbox;
  readonly #rules: Readonly<Record<'v1' | 'v2', string>>;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    const rules = (template: string): string => sandbox.ledger.create(`#${template}`, { admin }, [admin]).contractId;
    this.#rules = { v1: rules(publishedNames.rulesV1), v2: rules(publishedNames.rulesV2) };
  }

  get #extraArgs(): JsonObject {
    const context = { 'testTokenV2/tokenRules': { tag: 'AV_ContractId', value: this.#rules.v2 } };
    return { context: { values: context }, meta: emptyMetadata };
  }

  #exercise(actor: string, contractId: string, declaredBy: string, choice: string, argument: JsonObject): Transaction {
    const exercise = { kind: 'exercise', contractId, templateId: `#${declaredBy}`, choice, argument } as const;
    return this.#sandbox.ledger.submit({ commands: [exercise], actAs: [actor] });
  }

  /** The unlocked holdings of an account. */
  #free(owner: JsonObject, instrumentId: JsonObject): string[] {
    return this.#active('TestTokenV2.Holding:Token')
      .filter(({ createArgument: { holding } }) => {
        const { account: holdingAccount, instrumentId: instrument, lock } = holding as Record<string, Json>;
        return lock === null && isSame(holdingAccount, owner) && isSame(instrument, instrumentId);
      })
      .map(({ contractId }) => contractId);
  }

  #active(entity: string): readonly CreatedEvent[] {
    const activeEntries = [...this.#sandbox.ledger.activeAt(this.#sandbox.ledger.ledgerEnd())];
    return activeEntries
      .map(({ activation }) => activation.created)
      .filter(({ templateId }) => templateId.endsWith(entity));
  }

  mint(to: JsonObject, amount: string, instrumentId = dollars): void {
    const config = { canInitiate: true, mustApprove: true };
    const receiverConfig = { admin, account: to, ownerConfig: config, providerConfig: config };
    const argument = { receiver: to, amount, instrumentId, offeredAt: requestTime, receiverConfig };
    const offerCid = this.#sandbox.ledger.exercise(this.#rules.v2, 'TokenRules_OfferMint', argument, [admin]);
    this.answer(2, 'Accept', asText(to['owner']), createdId(offerCid, publishedNames.offerV2));
  }

  answer(version: 1 | 2, action: 'Accept' | 'Reject' | 'Withdraw', offerActor: string, offerCid: string): void {
    const { transferInstruction } = version === 1 ? interfaces : interfacesV2;
    const extraArgs = this.#extraArgs;
    const argument = version === 1 ? { extraArgs } : { actors: [offerActor], extraArgs };
    this.#exercise(offerActor, offerCid, transferInstruction, `TransferInstruction_${action}`, argument);
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
      executeBefore: expiryTime,
      inputHoldingCids: this.#free(sender, dollars),
      meta: reason === '' ? emptyMetadata : reasonMeta(reason),
    };
    const actor = asText(sender['owner']);
    const extraArgs = this.#extraArgs;
    const argument =
      version === 1 ? { expectedAdmin: admin, transfer, extraArgs } : { transfer, actors: [actor], extraArgs };
    const { transferFactory } = version === 1 ? interfaces : interfacesV2;
    return createdId(
      this.#exercise(actor, this.#rules.v2, transferFactory, 'TransferFactory_Transfer', argument),
      publishedNames.offerV2,
    );
  }

  /** Exchanges two instruments: both parties allocate their holdings, and the venue settles. */
  exchange(first: JsonObject, second: JsonObject, offerChoice: string, takeChoice: string): void {
    const settlement = { executors: [venue], id: 'fx-1', cid: null, meta: emptyMetadata };
    const legs = [
      { id: 'give', sender: first, receiver: second, amount: offerChoice, instrumentId: dollars },
      { id: 'take', sender: second, receiver: first, amount: takeChoice, instrumentId: euros },
    ];
    const cids = [first, second].map((authorizer, index) => {
      const legSides = legs.map(({ id, sender, receiver, amount, instrumentId }) => ({
        transferLegId: id,
        side: isSame(sender, authorizer) ? 'SenderSide' : 'ReceiverSide',
        otherside: isSame(sender, authorizer) ? receiver : sender,
        amount,
        instrumentId: instrumentId.id,
        meta: emptyMetadata,
      }));
      const allocation = {
        admin,
        authorizer,
        transferLegSides: legSides,
        settlementDeadline: expiryTime,
        nextIterationFunding: null,
        committed: true,
        meta: emptyMetadata,
      };
      const inputHoldingCids = this.#free(authorizer, index === 0 ? dollars : euros);
      const actor = asText(authorizer['owner']);
      const argument = {
        settlement,
        allocation,
        requestedAt: requestTime,
        inputHoldingCids,
        extraArgs: this.#extraArgs,
      };
      const fullArgument = { ...argument, actors: [actor] };
      const { allocationFactory } = interfacesV2;
      return createdId(
        this.#exercise(actor, this.#rules.v2, allocationFactory, 'AllocationFactory_Allocate', fullArgument),
        publishedNames.allocationV2,
      );
    });
    const transferLegs = legs.map(({ id, instrumentId, ...leg }) => {
      return { transferLegId: id, ...leg, instrumentId: instrumentId.id, meta: emptyMetadata };
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
      allocateBefore: expiryTime,
      settleBefore: expiryTime,
      meta: emptyMetadata,
    };
    return {
      settlement,
      transferLegId: 'leg',
      transferLeg: { sender, receiver, amount, instrumentId, meta: emptyMetadata },
    };
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
    const template = rules === 'v1' ? publishedNames.ownAllocationV1 : publishedNames.allocationV1;
    const cid = createdId(
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
      const holding = { owner: alice, instrumentId, amount, lock: null, meta: emptyMetadata };
      return ledger.create(`#${publishedNames.tokenV1}`, { holding }, [admin, alice]).contractId;
    };
    const transfer = (inputs: readonly string[], amount: string): JsonObject => ({
      sender: alice,
      receiver: bob,
      amount,
      instrumentId,
      requestedAt: requestTime,
      executeBefore: expiryTime,
      inputHoldingCids: [...inputs],
      meta: emptyMetadata,
    });
    const extraArgs = this.#extraArgs;
    const createOffer = (request: JsonObject): string => {
      const argument = { expectedAdmin: admin, transfer: request, extraArgs };
      const { transferFactory } = interfaces;
      return createdId(
        this.#exercise(alice, this.#rules.v1, transferFactory, 'TransferFactory_Transfer', argument),
        publishedNames.offerV1,
      );
    };
    this.answer(1, 'Accept', bob, createOffer(transfer([token('20.0000000000')], '7.5000000000')));
    this.answer(1, 'Reject', bob, createOffer(transfer([token('3.0000000000')], '3.0000000000')));
    this.execute('v1', alice, bob, '1.2500000000', [token('2.0000000000')]);
    // A burn without a burn request.
    ledger.exercise(token('0.5000000000'), 'Archive', {}, [admin, alice]);
  }
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The first contract of a template that a transaction created; '' if there is none. */
function createdId({ events }: Transaction, template: string): string {
  const entity = template.slice(template.indexOf(':'));
  for (const event of events) {
    if ('CreatedEvent' in event && event.CreatedEvent.templateId.endsWith(entity)) return event.CreatedEvent.contractId;
  }
  return '';
}

const custodyAccount = account(bob, venue, 'custody');

/** Runs every flow. The expected movements are in `movements`. */
export function playTokenFlows(tokenFlows: TokenFlows): void {
  const [aliceAccount, bobAccount] = [account(alice), account(bob)];
  tokenFlows.mint(aliceAccount, '100.0000000000');
  tokenFlows.mint(bobAccount, '50.5000000000', euros);
  tokenFlows.answer(2, 'Accept', bob, tokenFlows.offer(2, aliceAccount, bobAccount, '10.2500000000', 'rent'));
  tokenFlows.answer(2, 'Reject', bob, tokenFlows.offer(2, aliceAccount, bobAccount, '1.0000000000'));
  tokenFlows.answer(2, 'Withdraw', alice, tokenFlows.offer(2, aliceAccount, bobAccount, '2.0000000000'));
  tokenFlows.answer(1, 'Accept', bob, tokenFlows.offer(1, aliceAccount, bobAccount, '3.5000000000', 'by version 1'));
  tokenFlows.answer(1, 'Reject', bob, tokenFlows.offer(1, aliceAccount, bobAccount, '4.5000000000'));
  tokenFlows.answer(1, 'Accept', alice, tokenFlows.offer(2, bobAccount, aliceAccount, '0.0000000001'));
  tokenFlows.offer(2, aliceAccount, aliceAccount, '5.0000000000');
  tokenFlows.answer(2, 'Accept', bob, tokenFlows.offer(2, aliceAccount, custodyAccount, '6.0000000000', 'to custody'));
  tokenFlows.exchange(aliceAccount, bobAccount, '20.0000000000', '18.5000000000');
  tokenFlows.execute('v2', alice, bob, '2.2500000000');
  tokenFlows.ofVersion1();
  tokenFlows.offer(2, aliceAccount, custodyAccount, '0.7500000000');
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
