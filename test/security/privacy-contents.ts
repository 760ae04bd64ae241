/** Contents of contracts and exercises of the random history, chosen so that every view of the read side has rows. */
import type { PackageModel } from '../../src/daml/package-model.ts';
import { template, type Json } from '../support/frames.ts';

const holding = `${'c1'.repeat(32)}:Splice.Api.Token.HoldingV1:Holding`;
const instruction = `${'c2'.repeat(32)}:Splice.Api.Token.TransferInstructionV1:TransferInstruction`;
const factory = `${'c2'.repeat(32)}:Splice.Api.Token.TransferInstructionV1:TransferFactory`;
const eventLog = `${'c4'.repeat(32)}:Splice.Api.Token.TransferEventsV2:EventLog`;
const allocation = `${'c3'.repeat(32)}:Splice.Api.Token.AllocationV1:Allocation`;

export const interfaces = [holding, instruction, allocation];

/** The id of a template in the package of the network. */
function network(entity: string): string {
  return `${'c5'.repeat(32)}:Splice.${entity}`;
}

/** Interface (null for a choice of the template), choice, and the template if it is another one. */
export type Choice = readonly [string | null, string, string?];

export const choices: readonly Choice[] = [
  [null, 'Transfer'],
  [null, 'Archive'],
  [factory, 'TransferFactory_Transfer'],
  [instruction, 'TransferInstruction_Accept'],
  [eventLog, 'EventLog_HoldingsChange'],
  [null, 'AmuletRules_Transfer', network('AmuletRules:AmuletRules')],
  [null, 'AmuletRules_BuyMemberTraffic', network('AmuletRules:AmuletRules')],
  [null, 'ValidatorLicense_ReportActive', network('ValidatorLicense:ValidatorLicense')],
];

/** Templates of the network. Every third contract has such a template. */
const networkTemplates = [
  'Round:OpenMiningRound',
  'Round:ClosedMiningRound',
  'DecentralizedSynchronizer:MemberTraffic',
  'Amulet:AppRewardCoupon',
  'Amulet:FeaturedAppRight',
  'Amulet:FeaturedAppActivityMarker',
  'Amulet:UnclaimedReward',
  'ValidatorLicense:ValidatorLicense',
  'GovernanceLock:GovernanceLock',
  'GovernanceLock:VestingLock',
];

/** Number of consecutive contracts that include one of each template. */
export const contractsOfEveryTemplate = 3 * networkTemplates.length;

/** Package name of a template. */
export function packageNameOf(templateId: string): string {
  return templateId === template ? 'iou' : 'splice-amulet';
}

function templateOf(id: string): string {
  const number = Number(/\d+$/.exec(id)?.[0]);
  const entity = number % 3 === 0 ? networkTemplates[(number / 3) % networkTemplates.length] : undefined;
  return entity === undefined ? template : network(entity);
}

/** The argument of an exercise at an offset, with the fields of all token choices. */
export function argumentOf(offset: number, contractId: string, actor: string): Json {
  return {
    secret: `argument ${String(offset)}`,
    transfer: { sender: actor, amount: String(offset), instrumentId: { id: `of ${contractId}` }, outputs: [] },
    provider: actor,
    memberId: `member of ${contractId}`,
    synchronizerId: 'of the network',
    migrationId: '0',
    trafficAmount: String(offset),
    admin: actor,
    account: { owner: actor },
    transferLegSides: [
      { side: 'SenderSide', otherside: { owner: null }, amount: String(offset), instrumentId: `of ${contractId}` },
    ],
  };
}

/** The result of an exercise at an offset, with the fields of all choices. */
export function resultOf(offset: number): Json {
  return {
    secret: `result ${String(offset)}`,
    output: { tag: 'TransferInstructionResult_Completed', value: {} },
    round: { number: '1' },
    amuletPaid: String(offset),
    summary: { holdingFees: String(offset), senderChangeFee: '0', outputFees: [] },
  };
}

/** The content fields of a created event, each with the contract id. */
export function contentsOf(id: string, sender: string, receiver: string, views: readonly string[]) {
  return {
    templateId: templateOf(id),
    packageName: packageNameOf(templateOf(id)),
    createArgument: {
      secret: `payload of ${id}`,
      owner: sender,
      amount: '60.0000000000',
      dso: sender,
      provider: receiver,
      validator: receiver,
      round: { number: '1' },
      featured: true,
      issuancePerFeaturedAppRewardCoupon: '1.5',
      memberId: `member of ${id}`,
      synchronizerId: 'of the network',
      migrationId: '0',
      totalPurchased: '1000',
      numPurchases: '1',
      amuletSpent: '2.5',
      usdSpent: '0.5',
      weight: '1.0',
      lockedAmulet: id,
      specification: { kind: { tag: 'GLK_FeaturedApp', value: { provider: receiver } } },
      vestingPeriod: { microseconds: '864000000000' },
      endTime: '2026-08-20T11:00:00Z',
      vestingAmount: '1.5',
    },
    contractKey: { secret: `key of ${id}` },
    contractKeyHash: Buffer.from(`hash of ${id}`).toString('base64'),
    createdEventBlob: Buffer.from(`blob of ${id}`).toString('base64'),
    interfaceViews: views.map((interfaceId) => viewOf(interfaceId, id, sender, receiver)),
  };
}

function viewOf(interfaceId: string, id: string, sender: string, receiver: string) {
  // One in ten interface views has failed and has an error message.
  const isFailed = id.endsWith('7');
  const message = isFailed ? `failure of ${id}` : '';
  return {
    interfaceId,
    viewStatus: { code: isFailed ? 9 : 0, message, details: [] },
    viewValue: isFailed ? null : valueOf(interfaceId, id, sender, receiver),
    implementationPackageId: 'ab'.repeat(32),
  };
}

function valueOf(interfaceId: string, id: string, sender: string, receiver: string): Json {
  const instrumentId = { admin: sender, id: `instrument of ${id}` };
  const times = { requestedAt: '2026-08-14T11:00:00Z', executeBefore: '2026-08-15T11:00:00Z' };
  const leg = { sender, receiver, amount: '2.5', instrumentId };
  // A contract explains its own lock, and the lock of the contract before it if the admin and the owner are the same.
  const lockedIds = [id, id.replace(/\d+$/, (number) => String(Number(number) - 1))];
  if (interfaceId === holding) {
    const holders = [...new Set([sender, receiver])];
    const lock = /[02468]$/.test(id) ? { holders, expiresAt: times.executeBefore, context: `lock of ${id}` } : null;
    return { owner: sender, instrumentId, amount: '1.5', lock, meta: { values: { id } } };
  }
  if (interfaceId === instruction) {
    const transfer = { ...leg, ...times, inputHoldingCids: lockedIds, meta: { values: { id } } };
    return { transfer, status: { tag: 'TransferPendingReceiverAcceptance' }, originalInstructionCid: null };
  }
  const settlement = {
    executor: sender,
    settlementRef: { id: `settlement of ${id}`, cid: null },
    meta: { values: { id } },
    requestedAt: times.requestedAt,
    allocateBefore: times.executeBefore,
    settleBefore: times.executeBefore,
  };
  return {
    allocation: { settlement, transferLegId: `leg of ${id}`, transferLeg: leg },
    holdingCids: lockedIds,
  };
}

const text = { kind: 'builtin', name: 'text' } as const;

/** The packages of the template and of one interface, with the parts that typed views need. */
export const packages: readonly PackageModel[] = [
  {
    packageId: template.slice(0, 64),
    name: 'iou',
    version: '1.0.0',
    languageVersion: '2.1',
    templates: [
      {
        moduleName: 'Main.Iou',
        entityName: 'Iou',
        choices: [
          {
            name: 'Transfer',
            consuming: true,
            argument: { kind: 'named', name: `${template.slice(0, 64)}:Main.Iou:Transfer`, arguments: [] },
            result: { kind: 'opaque' },
          },
        ],
        implements: [holding],
        key: undefined,
      },
    ],
    interfaces: [],
    dataTypes: {
      'Main.Iou:Iou': { kind: 'record', parameters: [], fields: [{ name: 'secret', type: text }] },
      'Main.Iou:Transfer': { kind: 'record', parameters: [], fields: [{ name: 'secret', type: text }] },
    },
    dependencies: [],
  },
  {
    packageId: holding.slice(0, 64),
    name: 'splice-api-token-holding-v1',
    version: '1.0.0',
    languageVersion: '2.1',
    templates: [],
    interfaces: [
      {
        moduleName: 'Splice.Api.Token.HoldingV1',
        entityName: 'Holding',
        choices: [],
        view: { kind: 'named', name: `${holding.slice(0, 64)}:Splice.Api.Token.HoldingV1:HoldingView`, arguments: [] },
        requires: [],
      },
    ],
    dataTypes: {
      'Splice.Api.Token.HoldingV1:HoldingView': {
        kind: 'record',
        parameters: [],
        fields: [{ name: 'owner', type: text }],
      },
    },
    dependencies: [],
  },
];
