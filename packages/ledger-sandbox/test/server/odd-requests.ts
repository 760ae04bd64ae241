/** A well-formed request to every endpoint that takes a body. `odd-values.ts` changes these requests. */
import { partyId } from '../../src/wire/random.ts';
import { anyParty, updateFormat } from './sockets.ts';

/** A request to one endpoint, e.g. `POST /v2/users`. */
export interface Sample {
  readonly what: string;
  readonly body: unknown;
}

const filters = {
  cumulative: [
    { identifierFilter: { WildcardFilter: { value: { includeCreatedEventBlob: true } } } },
    { identifierFilter: { TemplateFilter: { value: { templateId: '#model-tests:Iou:Iou' } } } },
    {
      identifierFilter: {
        InterfaceFilter: {
          value: {
            interfaceId: '#splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding',
            includeInterfaceView: true,
          },
        },
      },
    },
  ],
};
const eventFormat = { filtersByParty: { alice: filters }, filtersForAnyParty: filters, verbose: true };
const format = updateFormat('LEDGER_EFFECTS', eventFormat);
const transactionFormat = { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' };
const [source, target] = [partyId('global-domain', 'global-domain'), partyId('private-sync', 'private-sync')];
const iou = { issuer: 'alice', owner: 'alice', currency: 'EUR', amount: '1.0', observers: ['bob'] };

/** Templates that can be created, with arguments. The acting party is `alice`. */
const creations: readonly (readonly [string, object])[] = [
  ['model-tests:Iou:Iou', iou],
  ['model-tests:Iou:IouTransfer', { iou, newOwner: 'bob' }],
  [
    'sandbox-test:Keyed:Account',
    { bank: 'alice', owner: 'alice', number: '7', balance: '1.0', version: '1', nickname: null, limit: '2.0' },
  ],
  ['splice-amulet:Splice.Amulet:Amulet', { dso: 'alice', owner: 'alice', amount: { initialAmount: '1.0' } }],
  ['splice-amulet:Splice.Amulet:AppRewardCoupon', { admin: 'alice', owner: 'bob', amount: '1.0', beneficiary: null }],
  ['splice-amulet:Splice.ExternalPartyAmuletRules:ExternalPartyAmuletRules', { dso: 'alice' }],
  [
    'splice-amulet:Splice.AmuletTransferInstruction:AmuletTransferInstruction',
    { admin: 'alice', transfer: { sender: 'alice', receiver: 'bob', amount: '1.0' } },
  ],
];

/** Choices with arguments. Each has the index of the template of its contract. */
const choices: readonly (readonly [number, string, object])[] = [
  [0, 'Iou_Transfer', { newOwner: 'bob' }],
  [2, 'Account_Deposit', { amount: '1.0' }],
  [
    5,
    'TransferFactory_Transfer',
    {
      transfer: { sender: 'alice', receiver: 'bob', amount: '1.0', inputHoldingCids: ['00'] },
      extraArgs: { context: { values: {} } },
    },
  ],
  [4, 'Mint', {}],
  [6, 'TransferInstruction_Withdraw', {}],
];

const submission = {
  userId: 'u',
  commandId: 'c',
  submissionId: 's',
  workflowId: 'w',
  actAs: ['alice'],
  readAs: ['bob'],
  synchronizerId: source,
  packageIdSelectionPreference: [],
  deduplicationPeriod: { DeduplicationDuration: { value: { seconds: 0, nanos: 0 } } },
  minLedgerTimeAbs: '2026-01-01T00:00:00.123Z',
  disclosedContracts: [],
};

function createSample([template, createArguments]: readonly [string, object]): object {
  return { CreateCommand: { templateId: `#${template}`, createArguments } };
}

function exerciseSample([index, choice, choiceArgument]: readonly [number, string, object]): object {
  const [template = '', createArguments = {}] = creations[index] ?? [];
  return { CreateAndExerciseCommand: { templateId: `#${template}`, createArguments, choice, choiceArgument } };
}

const commands = [...creations.map(createSample), ...choices.map(exerciseSample)];
const exerciseByKey = {
  ExerciseByKeyCommand: {
    templateId: '#sandbox-test:Keyed:Account',
    contractKey: { _1: 'alice', _2: '7' },
    choice: 'Account_Inquire',
    choiceArgument: {},
  },
};
const exerciseById = {
  ExerciseCommand: { templateId: '#model-tests:Iou:Iou', contractId: '00', choice: 'Archive', choiceArgument: {} },
};
const transactionOf = (command: object): object => ({
  commands: { ...submission, commands: [command] },
  transactionFormat,
});

const move = (kind: 'Unassign' | 'Assign'): object => ({
  userId: 'u',
  commandId: 'c',
  submissionId: 's',
  workflowId: 'w',
  submitter: 'alice',
  commands: [
    {
      command: { [`${kind}Command`]: { value: { contractId: '00', reassignmentId: '00', source, target } } },
    },
  ],
});

const publicKey = {
  format: 'CRYPTO_KEY_FORMAT_RAW',
  keySpec: 'SIGNING_KEY_SPEC_EC_CURVE25519',
  keyData: Buffer.alloc(32).toString('base64'),
};
const signature = {
  format: 'SIGNATURE_FORMAT_RAW',
  signature: Buffer.alloc(64).toString('base64'),
  signedBy: '1220',
  signingAlgorithmSpec: 'SIGNING_ALGORITHM_SPEC_ED25519',
};
const forgedRequest = {
  commands: [exerciseById],
  actAs: ['alice'],
  commandId: 'c',
  synchronizerId: source,
  preparedAt: 1,
  transactionUuid: 'u',
  maxRecordTime: 1,
};

/** A prepared transaction that no preparation created. */
export function preparedOf(content: unknown): string {
  return Buffer.from(`sandbox prepared transaction 1\n${JSON.stringify(content)}`).toString('base64');
}

const execution = {
  preparedTransaction: preparedOf(forgedRequest),
  partySignatures: { signatures: [{ party: 'alice', signatures: [signature] }] },
  hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
  submissionId: 's',
  userId: 'u',
  deduplicationPeriod: { DeduplicationOffset: { value: 0 } },
  transactionFormat,
};

const range = { beginExclusive: 0, endInclusive: 9, updateFormat: format, descendingOrder: true };
const legacy = { beginExclusive: 0, endInclusive: 9, filter: eventFormat, verbose: true };
const snapshot = { activeAtOffset: 9, eventFormat, streamContinuationToken: '' };
const metadata = { resourceVersion: '', annotations: { a: 'b' } };
const user = { id: 'someone', primaryParty: 'alice', isDeactivated: false, metadata, identityProviderId: '' };
const rights = [{ kind: { CanActAs: { value: { party: 'alice' } } } }];

const streams: readonly Sample[] = [
  { what: 'POST /v2/updates', body: range },
  { what: 'POST /v2/updates', body: legacy },
  { what: 'POST /v2/updates/flats', body: legacy },
  { what: 'POST /v2/updates/trees', body: legacy },
  { what: 'POST /v2/state/active-contracts', body: snapshot },
  { what: 'POST /v2/commands/completions', body: { userId: 'u', parties: ['alice'], beginExclusive: 0 } },
  { what: 'POST /v2/commands/command-completions', body: { parties: ['alice'], beginExclusive: 0 } },
].map(({ what: endpoint, body }) => ({ what: `${endpoint}?stream_idle_timeout_ms=0`, body }));

const readSamples: readonly Sample[] = [
  { what: 'POST /v2/state/active-contracts-page', body: { ...snapshot, maxPageSize: 2, pageToken: '' } },
  {
    what: 'POST /v2/updates/get-updates-page',
    body: { beginOffsetExclusive: 0, endOffsetInclusive: 9, maxPageSize: 2, updateFormat: format, pageToken: '' },
  },
  { what: 'POST /v2/updates/update-by-offset', body: { offset: 3, updateFormat: format } },
  { what: 'POST /v2/updates/update-by-id', body: { updateId: 'x', updateFormat: format } },
  { what: 'POST /v2/updates/transaction-by-offset', body: { offset: 3, requestingParties: ['alice'] } },
  { what: 'POST /v2/updates/transaction-by-id', body: { updateId: 'x', transactionFormat } },
  { what: 'POST /v2/events/events-by-contract-id', body: { contractId: '00', eventFormat: anyParty } },
  { what: 'POST /v2/contracts/contract-by-id', body: { contractId: '00', queryingParties: ['alice'] } },
  {
    what: 'POST /v2/package-vetting/list',
    body: {
      packageMetadataFilter: { packageIds: ['00'], packageNamePrefixes: ['a'] },
      topologyStateFilter: { participantIds: ['p'], synchronizerIds: [source] },
      pageSize: 1,
      pageToken: '',
    },
  },
  {
    what: 'POST /v2/interactive-submission/preferred-packages',
    body: {
      packageVettingRequirements: [{ parties: ['alice'], packageName: 'model-tests' }],
      synchronizerId: source,
      vettingValidAt: '2026-01-01T00:00:00Z',
    },
  },
];

const writes: readonly Sample[] = [
  ...commands.map((command) => ({
    what: 'POST /v2/commands/submit-and-wait-for-transaction',
    body: transactionOf(command),
  })),
  { what: 'POST /v2/commands/submit-and-wait', body: { ...submission, commands: [exerciseByKey] } },
  { what: 'POST /v2/commands/submit-and-wait-for-transaction-tree', body: { ...submission, commands: [exerciseById] } },
  { what: 'POST /v2/commands/async/submit', body: { ...submission, commands: [exerciseById] } },
  {
    what: 'POST /v2/commands/submit-and-wait-for-reassignment',
    body: { reassignmentCommands: move('Unassign'), eventFormat },
  },
  { what: 'POST /v2/commands/async/submit-reassignment', body: { reassignmentCommands: move('Assign') } },
  {
    what: 'POST /v2/interactive-submission/prepare',
    body: {
      ...submission,
      commands: [exerciseByKey],
      maxRecordTime: '2036-01-01T00:00:00Z',
      verboseHashing: true,
      hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
      estimateTrafficCost: { disabled: false },
    },
  },
  { what: 'POST /v2/interactive-submission/execute', body: execution },
  { what: 'POST /v2/interactive-submission/executeAndWait', body: execution },
  { what: 'POST /v2/interactive-submission/executeAndWaitForTransaction', body: execution },
];

const administration: readonly Sample[] = [
  {
    what: 'POST /v2/parties/external/generate-topology',
    body: { synchronizer: source, partyHint: 'eve', publicKey, confirmationThreshold: 1 },
  },
  {
    what: 'POST /v2/parties/external/allocate',
    body: {
      synchronizer: source,
      onboardingTransactions: [{ transaction: 'e30=', signatures: [signature] }],
      multiHashSignatures: [signature],
      userId: '',
    },
  },
  {
    what: 'POST /v2/parties',
    body: { partyIdHint: 'eve', identityProviderId: '', synchronizerId: source, userId: '', localMetadata: metadata },
  },
  {
    what: 'PATCH /v2/parties/alice',
    body: {
      partyDetails: { party: 'alice', identityProviderId: '', localMetadata: metadata },
      updateMask: { paths: ['local_metadata'] },
    },
  },
  { what: 'POST /v2/users', body: { user, rights } },
  { what: 'PATCH /v2/users/someone', body: { user, updateMask: { paths: ['metadata', 'primary_party'] } } },
  { what: 'POST /v2/users/someone/rights', body: { userId: 'someone', identityProviderId: '', rights } },
  { what: 'PATCH /v2/users/someone/rights', body: { userId: 'someone', identityProviderId: '', rights } },
  {
    what: 'POST /v2/idps',
    body: {
      identityProviderConfig: {
        identityProviderId: 'idp',
        isDeactivated: false,
        issuer: 'i',
        jwksUrl: 'http://127.0.0.1:1/',
        audience: '',
      },
    },
  },
  {
    what: 'POST /v2/package-vetting/update',
    body: {
      changes: [{ operation: { Vet: { value: { packages: [{ packageId: '00', packageName: 'a' }] } } } }],
      dryRun: true,
      synchronizerId: source,
      expectedTopologySerial: { serial: { Prior: { value: 1 } } },
    },
  },
];

/** Every endpoint of release 3.5 that takes JSON. */
export const samples: readonly Sample[] = [...streams, ...readSamples, ...writes, ...administration];
