/**
 * A template with a contract key, the account of a bank. It has fields of every type with a special format on the wire
 * (Int, Numeric, Optional), a consuming choice, a non-consuming choice, and a failing choice. The demo does not use it.
 */
import { assertionFailed } from '../wire/daml-failure.ts';
import { failure } from '../wire/failure.ts';
import { asText } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Choice, Template } from './model.ts';
import { withoutTrailingNones } from './release-fields.ts';
import { formatNumeric, parseNumeric } from '../wire/values.ts';

export const accountTemplate = 'sandbox-test:Keyed:Account';

/** The trailing fields that may be None, in declared order. */
const optionals = ['nickname', 'limit'];

function invalid(field: string, expected: string): never {
  throw failure({ code: 'INVALID_ARGUMENT', category: 8, cause: `${field} is not ${expected}` });
}

function numeric(value: Json | undefined, field: string): bigint {
  const text = typeof value === 'number' ? String(value) : asText(value);
  return parseNumeric(text) ?? invalid(field, 'a Numeric 10');
}

/** An Int64, which is a text on the wire; releases since 3.5 refuse a number. */
function int(value: Json | undefined, field: string): string {
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? value : invalid(field, 'an Int');
}

function party(value: Json | undefined, field: string): string {
  return typeof value === 'string' && value !== '' ? value : invalid(field, 'a Party');
}

/** The payload with all fields in order; trailing fields that are None are omitted. */
function normalize(input: JsonObject): JsonObject {
  const payload: JsonObject = {
    bank: party(input['bank'], 'bank'),
    owner: party(input['owner'], 'owner'),
    number: asText(input['number']),
    balance: formatNumeric(numeric(input['balance'], 'balance')),
    version: int(input['version'], 'version'),
    nickname: input['nickname'] ?? null,
    limit: (input['limit'] ?? null) === null ? null : formatNumeric(numeric(input['limit'], 'limit')),
  };
  return withoutTrailingNones(payload, optionals);
}

/** A choice that replaces the account by one with another balance and the next version. */
function move(sign: 1n | -1n): Choice {
  return {
    consuming: true,
    controllers: (payload) => [asText(payload['owner'])],
    run: ({ contract: { createArgument: payload }, argument, create }) => {
      const balance = numeric(payload['balance'], 'balance') + sign * numeric(argument['amount'], 'amount');
      if (balance < 0n) throw assertionFailed('Insufficient balance');
      const version = String(BigInt(asText(payload['version'])) + 1n);
      return create(accountTemplate, { ...payload, balance: formatNumeric(balance), version });
    },
  };
}

/** `sandbox-test:Keyed:Account`, with the key `(bank, number)`. */
export const account: Template = {
  name: accountTemplate,
  signatories: (payload) => [asText(payload['bank'])],
  observers: (payload) => [asText(payload['owner'])],
  interfaces: [],
  optionals,
  normalize,
  key: (payload) => ({
    value: { _1: payload['bank'] ?? '', _2: payload['number'] ?? '' },
    maintainers: [asText(payload['bank'])],
  }),
  choices: {
    Account_Deposit: move(1n),
    Account_Withdraw: move(-1n),
    Account_Inquire: {
      consuming: false,
      controllers: (payload) => [asText(payload['owner'])],
      run: ({ contract: { createArgument: payload } }) => ({ balance: payload['balance'] ?? null }),
    },
  },
};
