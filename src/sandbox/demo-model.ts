/**
 * The demo templates: CIP-56 tokens in two instruments (Amulet and a stable-coin) with one-step and two-step transfers,
 * mint requests, and the Iou of the tutorials. Package, module and entity names of Splice are the real ones.
 */
import { assertionFailed } from './daml-failure.ts';
import { asList, asObject, asText, asTexts, textAt } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import type { ChoiceContext, Template } from './model.ts';
import { withoutTrailingNones } from './release-fields.ts';
import { formatNumeric, parseNumeric } from './values.ts';
import { failure } from './failure.ts';

export const holdingInterface = 'splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';
export const instructionInterface =
  'splice-api-token-transfer-instruction-v1:Splice.Api.Token.TransferInstructionV1:TransferInstruction';
export const factoryInterface =
  'splice-api-token-transfer-instruction-v1:Splice.Api.Token.TransferInstructionV1:TransferFactory';

const noMeta: JsonObject = { values: {} };

/** The names and the payload shape of one token. */
export interface Instrument {
  readonly id: string;
  readonly holding: string;
  readonly factory: string;
  readonly instruction: string;
  readonly mintRequest: string;
  /** The trailing Optional field of a mint request. */
  readonly mintOptional: string;
  /** The payload field that names the issuing party. */
  readonly adminField: string;
  payload(admin: string, owner: string, amount: string): JsonObject;
  amountOf(payload: JsonObject): string;
}

export const amulet: Instrument = {
  id: 'Amulet',
  holding: 'splice-amulet:Splice.Amulet:Amulet',
  factory: 'splice-amulet:Splice.ExternalPartyAmuletRules:ExternalPartyAmuletRules',
  instruction: 'splice-amulet:Splice.AmuletTransferInstruction:AmuletTransferInstruction',
  mintRequest: 'splice-amulet:Splice.Amulet:AppRewardCoupon',
  mintOptional: 'beneficiary',
  adminField: 'dso',
  payload: (dso, owner, initialAmount) => ({
    dso,
    owner,
    amount: { initialAmount, createdAt: { number: '17719' }, ratePerRound: { rate: '0.0001268393' } },
  }),
  amountOf: (payload) => textAt(payload, 'amount', 'initialAmount'),
};

export const stableCoin: Instrument = {
  id: 'EURX',
  holding: 'harbor-stablecoin:Harbor.StableCoin:Token',
  factory: 'harbor-stablecoin:Harbor.StableCoin:TokenRules',
  instruction: 'harbor-stablecoin:Harbor.StableCoin:TokenTransferInstruction',
  mintRequest: 'harbor-stablecoin:Harbor.StableCoin:MintRequest',
  mintOptional: 'memo',
  adminField: 'registrar',
  payload: (registrar, owner, amount) => ({
    registrar,
    owner,
    amount,
    lock: null,
    details: { label: 'EURX', reference: { system: 'SEPA', note: null, batch: '42' } },
  }),
  amountOf: (payload) => textAt(payload, 'amount'),
};

/** The holding interface's view of a token payload. */
function holdingView(instrument: Instrument, payload: JsonObject): JsonObject {
  return {
    owner: asText(payload['owner']),
    instrumentId: { admin: asText(payload[instrument.adminField]), id: instrument.id },
    amount: instrument.amountOf(payload),
    lock: null,
    meta: noMeta,
  };
}

function holdingTemplate(instrument: Instrument): Template {
  return {
    name: instrument.holding,
    signatories: (payload) => [asText(payload[instrument.adminField]), asText(payload['owner'])],
    observers: () => [],
    interfaces: [{ name: holdingInterface, view: (payload) => holdingView(instrument, payload) }],
    choices: {
      Token_Burn: { consuming: true, controllers: (payload) => [asText(payload['owner'])], run: () => ({}) },
    },
  };
}

/** Archives the inputs and gives back their sum in 10^-10 units. */
function consumeInputs(context: ChoiceContext, instrument: Instrument, inputs: readonly string[]): bigint {
  let sum = 0n;
  for (const input of inputs) {
    const holding = context.fetch(input);
    sum += parseNumeric(instrument.amountOf(holding.createArgument)) ?? 0n;
    context.exercise(input, 'Archive', {}, holding.signatories);
  }
  return sum;
}

function runTransfer(context: ChoiceContext, instrument: Instrument): Json {
  const admin = asText(context.contract.createArgument[instrument.adminField]);
  const transfer = asObject(context.argument['transfer']) ?? {};
  const amount = parseNumeric(asText(transfer['amount'])) ?? 0n;
  const sum = consumeInputs(context, instrument, asTexts(transfer['inputHoldingCids']));
  if (amount <= 0n || sum < amount) {
    throw assertionFailed(`the inputs hold ${formatNumeric(sum)}, the transfer needs ${formatNumeric(amount)}`);
  }
  const holdingOf = (owner: Json | undefined, units: bigint): string =>
    context.create(instrument.holding, instrument.payload(admin, asText(owner), formatNumeric(units)));
  const values = asObject(asObject(asObject(context.argument['extraArgs'])?.['context'])?.['values']);
  const preapproved = values?.['transfer-preapproval'] !== undefined;
  const output = preapproved
    ? {
        tag: 'TransferInstructionResult_Completed',
        value: { receiverHoldingCids: [holdingOf(transfer['receiver'], amount)] },
      }
    : {
        tag: 'TransferInstructionResult_Pending',
        value: { transferInstructionCid: context.create(instrument.instruction, { admin, transfer }) },
      };
  const senderChangeCids = sum > amount ? [holdingOf(transfer['sender'], sum - amount)] : [];
  return { output, senderChangeCids, meta: noMeta };
}

function factoryTemplate(instrument: Instrument): Template {
  const admin = (payload: JsonObject): string[] => [asText(payload[instrument.adminField])];
  return {
    name: instrument.factory,
    signatories: admin,
    observers: () => [],
    interfaces: [
      { name: factoryInterface, view: (payload) => ({ admin: asText(payload[instrument.adminField]), meta: noMeta }) },
    ],
    choices: {
      TransferFactory_Transfer: {
        consuming: false,
        interface: factoryInterface,
        controllers: (_, argument) => [textAt(argument, 'transfer', 'sender')],
        run: (context) => runTransfer(context, instrument),
      },
    },
  };
}

/** Pays the locked amount of a transfer instruction out to its sender or its receiver. */
function payOut(context: ChoiceContext, instrument: Instrument, to: 'sender' | 'receiver'): Json {
  const { admin, transfer } = context.contract.createArgument;
  const payload = instrument.payload(asText(admin), textAt(transfer, to), textAt(transfer, 'amount'));
  const holding = context.create(instrument.holding, payload);
  const output =
    to === 'receiver'
      ? { tag: 'TransferInstructionResult_Completed', value: { receiverHoldingCids: [holding] } }
      : { tag: 'TransferInstructionResult_Failed', value: {} };
  return { output, senderChangeCids: to === 'sender' ? [holding] : [], meta: noMeta };
}

function instructionTemplate(instrument: Instrument): Template {
  const end = (by: 'sender' | 'receiver', to: 'sender' | 'receiver'): Template['choices'][string] => ({
    consuming: true,
    interface: instructionInterface,
    controllers: (payload) => [textAt(payload, 'transfer', by)],
    run: (context) => payOut(context, instrument, to),
  });
  const view = (payload: JsonObject): JsonObject => ({
    originalInstructionCid: null,
    transfer: payload['transfer'] ?? null,
    status: { tag: 'TransferPendingReceiverAcceptance', value: {} },
    meta: noMeta,
  });
  return {
    name: instrument.instruction,
    signatories: (payload) => [asText(payload['admin']), textAt(payload, 'transfer', 'sender')],
    observers: (payload) => [textAt(payload, 'transfer', 'receiver')],
    interfaces: [{ name: instructionInterface, view }],
    choices: {
      TransferInstruction_Accept: end('receiver', 'receiver'),
      TransferInstruction_Reject: end('receiver', 'sender'),
      TransferInstruction_Withdraw: end('sender', 'sender'),
    },
  };
}

function mintTemplate(instrument: Instrument): Template {
  const optionals = [instrument.mintOptional];
  return {
    name: instrument.mintRequest,
    signatories: (payload) => [asText(payload['admin'])],
    observers: (payload) => [asText(payload['owner'])],
    interfaces: [],
    optionals,
    normalise: (payload) => withoutTrailingNones(payload, optionals),
    choices: {
      Mint: {
        consuming: true,
        controllers: (payload) => [asText(payload['admin'])],
        run: ({ contract, create }) => {
          const { admin, owner, amount } = contract.createArgument;
          return {
            holdingCid: create(instrument.holding, instrument.payload(asText(admin), asText(owner), asText(amount))),
          };
        },
      },
    },
  };
}

function normaliseIou(payload: JsonObject): JsonObject {
  const units = parseNumeric(asText(payload['amount']));
  if (units === undefined)
    throw failure({ code: 'INVALID_ARGUMENT', category: 8, cause: 'amount is not a Numeric 10' });
  const { issuer, owner, currency } = payload;
  return {
    issuer: issuer ?? '',
    owner: owner ?? '',
    currency: currency ?? '',
    amount: formatNumeric(units),
    observers: asList(payload['observers']),
  };
}

const iou: Template = {
  name: 'model-tests:Iou:Iou',
  signatories: (payload) => [...new Set([asText(payload['issuer']), asText(payload['owner'])])],
  observers: (payload) => asTexts(payload['observers']),
  interfaces: [],
  normalise: normaliseIou,
  choices: {
    Iou_Transfer: {
      consuming: true,
      controllers: (payload) => [asText(payload['owner'])],
      run: ({ contract, argument, create }) =>
        create('model-tests:Iou:IouTransfer', { iou: contract.createArgument, newOwner: argument['newOwner'] ?? '' }),
    },
  },
};

const iouTransfer: Template = {
  name: 'model-tests:Iou:IouTransfer',
  signatories: (payload) => [...new Set([textAt(payload, 'iou', 'issuer'), textAt(payload, 'iou', 'owner')])],
  observers: (payload) => [asText(payload['newOwner'])],
  interfaces: [],
  choices: {
    IouTransfer_Accept: {
      consuming: true,
      controllers: (payload) => [asText(payload['newOwner'])],
      run: ({ contract: { createArgument: payload }, create }) =>
        create(iou.name, { ...asObject(payload['iou']), owner: payload['newOwner'] ?? '' }),
    },
  },
};

/** Every template the sandbox starts with. */
export function demoTemplates(): Template[] {
  const ofInstrument = [holdingTemplate, factoryTemplate, instructionTemplate, mintTemplate];
  return [
    ...[amulet, stableCoin].flatMap((instrument) => ofInstrument.map((make) => make(instrument))),
    iou,
    iouTransfer,
  ];
}
