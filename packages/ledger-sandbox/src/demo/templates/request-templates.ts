/** Requests that create new stable-coins and bonds, and the Iou of the tutorials. */
import { asList, asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import { failure } from '../../wire/failure.ts';
import type { JsonObject } from '../../wire/json.ts';
import type { Template } from '../../contracts/model.ts';
import { withoutTrailingNones } from '../../contracts/release-fields.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import { positive } from './funds.ts';
import { bond, stableCoin } from './instruments.ts';
import type { InstrumentV1 } from './instruments.ts';
import { names } from './names.ts';

function requestTemplate(instrument: InstrumentV1, name: string, adminField: string, choice: string): Template {
  const admin = (payload: JsonObject): string[] => [asText(payload[adminField])];
  return {
    name,
    signatories: admin,
    observers: (payload) => [asText(payload['owner'])],
    interfaces: [],
    optionals: ['memo'],
    normalize: (payload) => withoutTrailingNones(payload, ['memo']),
    choices: {
      [choice]: {
        consuming: true,
        controllers: admin,
        run: ({ contract: { createArgument: payload }, create }) => {
          const [owner = ''] = admin(payload);
          const amount = formatNumeric(positive(asText(payload['amount'])));
          const holding = { admin: owner, owner: asText(payload['owner']), amount, round: '0' };
          return { holdingCid: create(instrument.holding, instrument.free(holding)) };
        },
      },
    },
  };
}

function normalizeIou(payload: JsonObject): JsonObject {
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
  name: names.iou,
  signatories: (payload) => [...new Set([asText(payload['issuer']), asText(payload['owner'])])],
  observers: (payload) => asTexts(payload['observers']),
  interfaces: [],
  normalize: normalizeIou,
  choices: {
    Iou_Transfer: {
      consuming: true,
      controllers: (payload) => [asText(payload['owner'])],
      run: ({ contract, argument, create }) =>
        create(names.iouTransfer, { iou: contract.createArgument, newOwner: argument['newOwner'] ?? '' }),
    },
  },
};

const iouTransfer: Template = {
  name: names.iouTransfer,
  signatories: (payload) => [...new Set([textAt(payload, 'iou', 'issuer'), textAt(payload, 'iou', 'owner')])],
  observers: (payload) => [asText(payload['newOwner'])],
  interfaces: [],
  choices: {
    IouTransfer_Accept: {
      consuming: true,
      controllers: (payload) => [asText(payload['newOwner'])],
      run: ({ contract: { createArgument: payload }, create }) =>
        create(names.iou, { ...asObject(payload['iou']), owner: payload['newOwner'] ?? '' }),
    },
  },
};

/** The templates of requests and of the tutorials. */
export function requestTemplates(): Template[] {
  return [
    requestTemplate(stableCoin, names.mintRequest, 'admin', 'Mint'),
    requestTemplate(bond, names.issueRequest, 'registrar', 'Issue'),
    iou,
    iouTransfer,
  ];
}
