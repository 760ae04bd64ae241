/** Transactions that a party has signed but no preparation created. The sandbox checks them like any request. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { token } from '../../../../test/support/tokens.ts';
import { call, sharedSigner, startSecured } from '../identity/callers.ts';
import type { ApiResponse } from '../identity/callers.ts';
import { keys, signature } from './external-parties.ts';
import { preparedOf } from '../server/odd-requests.ts';
import { valueAt } from '../server/sockets.ts';

const iou = '#model-tests:Iou:Iou';
const [eveParty, alice] = ['eve::1220', 'alice::1220'];

let sandbox: Sandbox;
type ApiCall = (endpoint: string, body?: unknown) => Promise<ApiResponse>;
let admin: ApiCall;
/** A client that acts as the party `eve`. */
let eve: ApiCall;
/** A client that may execute as any party, but may not read as any party. */
let relay: ApiCall;

const argumentOf = (party: string): Record<string, string | string[]> => ({
  issuer: party,
  owner: party,
  currency: 'EUR',
  amount: '1.0',
  observers: [],
});

beforeAll(async () => {
  const users = [
    { id: 'eve', rights: [{ kind: 'CanActAs' as const, party: eveParty }] },
    { id: 'relay', rights: [{ kind: 'CanExecuteAsAnyParty' as const }] },
  ];
  sandbox = await startSecured({ users });
  const callAs = async (sub: string): Promise<ApiCall> => {
    const bearer = await token(sharedSigner, { sub });
    return async (endpoint, body) => await call(sandbox.url, bearer, endpoint, body);
  };
  admin = await callAs('participant_admin');
  eve = await callAs('eve');
  relay = await callAs('relay');
  sandbox.ledger.create(iou, argumentOf(alice), [alice]);
});

afterAll(() => sandbox.close());

describe('signed transactions that no preparation created', () => {
  const pair = keys();
  let party: string;

  beforeAll(async () => {
    const publicKey = {
      format: 'CRYPTO_KEY_FORMAT_RAW',
      keySpec: 'SIGNING_KEY_SPEC_EC_CURVE25519',
      keyData: pair.raw.toString('base64'),
    };
    const synchronizer = sandbox.ledger.synchronizers[0].id;
    const request = { synchronizer, partyHint: 'signer', publicKey };
    const { body } = await admin('POST /v2/parties/external/generate-topology', request);
    const transactions = valueAt(body, 'topologyTransactions') as string[];
    const allocated = await admin('POST /v2/parties/external/allocate', {
      synchronizer,
      onboardingTransactions: transactions.map((transaction) => ({ transaction })),
      multiHashSignatures: [signature(pair, String(valueAt(body, 'multiHash')))],
    });
    party = String(valueAt(allocated.body, 'partyId'));
  });

  /** Signs any bytes, with the hash that the participant reports in its first refusal. */
  async function executeTransaction(content: object): Promise<ApiResponse> {
    const request = (signatures: object[]): object => ({
      preparedTransaction: preparedOf(content),
      partySignatures: { signatures: [{ party, signatures: signatures }] },
      hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
      submissionId: 's',
      deduplicationPeriod: { Empty: {} },
    });
    const path = 'POST /v2/interactive-submission/executeAndWaitForTransaction';
    const first = await relay(path, request([signature(pair, 'AAAA')]));
    const hash = /to be signed: ([0-9a-f]+)/.exec(first.text)?.[1];
    if (hash === undefined) return first;
    return await relay(path, request([signature(pair, Buffer.from(hash, 'hex').toString('base64'))]));
  }

  const validTransaction = (): object => ({
    commands: [{ CreateCommand: { templateId: iou, createArguments: argumentOf(party) } }],
    actAs: [party],
    commandId: 'forged',
    synchronizerId: sandbox.ledger.synchronizers[0].id,
    preparedAt: sandbox.ledger.clock(),
    transactionUuid: 'u',
  });

  it.each([
    { commands: 5 },
    { commands: [] },
    { commands: [null] },
    { commands: [{ CreateCommand: 7 }] },
    { commands: [{ ExerciseCommand: { templateId: iou, contractId: {}, choice: 'Archive' } }] },
    { commands: [{ ExerciseByKeyCommand: { templateId: iou, choice: 'Archive' } }] },
    { commands: [{ AnythingCommand: {} }] },
    { actAs: 'text' },
    { actAs: [{}] },
    { actAs: [] },
    { commandId: {} },
    { synchronizerId: 'nowhere::1220' },
    { synchronizerId: 7 },
    { preparedAt: 1e300 },
    { preparedAt: 'now' },
    { maxRecordTime: 1e300 },
    { maxRecordTime: 'never' },
    { transactionUuid: 7 },
  ])('are refused if they are not a transaction: %j', async (transactionBytes) => {
    const { status } = await executeTransaction({ ...validTransaction(), ...transactionBytes });
    expect(status).toBe(400);
  });

  it('reveal no data to the signer that only other parties may see', async () => {
    const observedArgument = { ...argumentOf(party), observers: [alice] };
    const commands = [{ CreateCommand: { templateId: iou, createArguments: observedArgument } }];
    const { status, text } = await executeTransaction({
      ...validTransaction(),
      commandId: 'readers',
      commands,
      readAs: [alice],
    });
    expect([status, text]).toEqual([200, expect.not.stringContaining(`"witnessParties":["${party}","${alice}"]`)]);
  });

  it('do not record the parties that they refer to', async () => {
    const forgedArgument = { ...argumentOf(eveParty), observers: ['ghost::1220'] };
    const body = {
      commands: [{ CreateCommand: { templateId: iou, createArguments: forgedArgument } }],
      commandId: 'g',
    };
    const preparation = await eve('POST /v2/interactive-submission/prepare', {
      ...body,
      actAs: [eveParty],
      synchronizerId: '',
      packageIdSelectionPreference: [],
    });
    expect(preparation.status).toBe(200);
    const create = { templateId: iou, createArguments: argumentOf('phantom::1220') };
    const submittedRequest = { ...body, commands: [{ CreateCommand: create }], actAs: [eveParty] };
    expect((await eve('POST /v2/commands/submit-and-wait', submittedRequest)).status).toBe(400);
    const parties = (await admin('GET /v2/parties')).text;
    expect(parties).toContain(alice);
    expect(parties).not.toMatch(/ghost|phantom/);
  });
});
