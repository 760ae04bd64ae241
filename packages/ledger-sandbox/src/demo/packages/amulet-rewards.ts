/** Part of splice-amulet: licenses of validators, and the choices by which the DSO advances rounds and rewards. */
import { consuming, nonconsuming, record, template, variant } from '../../daml-lf/declaration.ts';
import type { Choices, ModuleDeclaration } from '../../daml-lf/declaration.ts';

/** The module Splice.ValidatorLicense. */
export const validatorLicense: ModuleDeclaration = {
  FaucetState: record({ firstReceivedFor: 'Round', lastReceivedFor: 'Round', numCouponsMissed: 'Int' }),
  ValidatorLicenseMetadata: record({ lastUpdatedAt: 'Time', version: 'Text', contactPoint: 'Text' }),
  ValidatorLicense_RecordValidatorLivenessActivityResult: record({
    licenseCid: 'ContractId ValidatorLicense',
    couponCid: 'ContractId ValidatorLivenessActivityRecord',
  }),
  ValidatorLicense_UpdateMetadataResult: record({ licenseCid: 'ContractId ValidatorLicense' }),
  ValidatorLicense_ReportActiveResult: record({ licenseCid: 'ContractId ValidatorLicense' }),
  ValidatorLivenessActivityRecord_DsoExpireResult: record({}),
  ValidatorLicense: template(
    {
      validator: 'Party',
      sponsor: 'Party',
      dso: 'Party',
      faucetState: 'Optional FaucetState',
      metadata: 'Optional ValidatorLicenseMetadata',
      lastActiveAt: 'Optional Time',
    },
    {
      choices: {
        ValidatorLicense_RecordValidatorLivenessActivity: consuming(
          { openRoundCid: 'ContractId OpenMiningRound' },
          'ValidatorLicense_RecordValidatorLivenessActivityResult',
        ),
        ValidatorLicense_UpdateMetadata: consuming(
          { version: 'Text', contactPoint: 'Text' },
          'ValidatorLicense_UpdateMetadataResult',
        ),
        ValidatorLicense_ReportActive: consuming({}, 'ValidatorLicense_ReportActiveResult'),
      },
    },
  ),
  ValidatorLivenessActivityRecord: template(
    { dso: 'Party', validator: 'Party', round: 'Round' },
    {
      choices: {
        ValidatorLivenessActivityRecord_DsoExpire: consuming(
          { closedRoundCid: 'ContractId ClosedMiningRound' },
          'ValidatorLivenessActivityRecord_DsoExpireResult',
        ),
      },
    },
  ),
};

/** Fields that all contracts of rewards computed outside the ledger have. */
const closedRound = {
  dso: 'Party',
  round: 'Round',
  roundClosedAt: 'Time',
};

/** The module Splice.Amulet.RewardAccountingV2. */
export const rewardAccounting: ModuleDeclaration = {
  CalculateRewardsV2: template({
    ...closedRound,
    rewardCouponTimeToLive: 'RelTime',
    dryRun: 'Bool',
    kind: 'Optional RewardKind',
  }),
  MintingAllowance: record({ provider: 'Party', amount: 'Decimal' }),
  Batch: variant({ BatchOfBatches: '[Hash]', BatchOfMintingAllowances: '[MintingAllowance]' }),
  ProcessRewardsV2_ProcessBatchResult: record({}),
  ProcessRewardsV2: template(
    {
      ...closedRound,
      dryRun: 'Bool',
      rewardCouponTimeToLive: 'RelTime',
      batchHash: 'Hash',
      kind: 'Optional RewardKind',
    },
    {
      choices: {
        ProcessRewardsV2_ProcessBatch: consuming({ batch: 'Batch' }, 'ProcessRewardsV2_ProcessBatchResult'),
      },
    },
  ),
};

const choices: Choices = {
  AmuletRules_StartProcessingRewardsV2: nonconsuming(
    { calculateRewardsCid: 'ContractId CalculateRewardsV2', rootHash: 'Hash' },
    'AmuletRules_StartProcessingRewardsV2Result',
  ),
  AmuletRules_MergeMemberTrafficContracts: nonconsuming(
    { trafficCids: '[ContractId MemberTraffic]' },
    'AmuletRules_MergeMemberTrafficContractsResult',
  ),
  AmuletRules_AdvanceOpenMiningRounds: nonconsuming(
    {
      amuletPrice: 'Decimal',
      roundToArchiveCid: 'ContractId OpenMiningRound',
      middleRoundCid: 'ContractId OpenMiningRound',
      latestRoundCid: 'ContractId OpenMiningRound',
    },
    'AmuletRules_AdvanceOpenMiningRoundsResult',
  ),
  AmuletRules_MiningRound_StartIssuing: nonconsuming(
    { miningRoundCid: 'ContractId SummarizingMiningRound', summary: 'OpenMiningRoundSummary' },
    'AmuletRules_MiningRound_StartIssuingResult',
  ),
  AmuletRules_MiningRound_Close: nonconsuming(
    { issuingRoundCid: 'ContractId IssuingMiningRound' },
    'AmuletRules_MiningRound_CloseResult',
  ),
  AmuletRules_MiningRound_Archive: nonconsuming(
    { closedRoundCid: 'ContractId ClosedMiningRound' },
    'AmuletRules_MiningRound_ArchiveResult',
  ),
  AmuletRules_ClaimExpiredRewards: nonconsuming(
    {
      closedRoundCid: 'ContractId ClosedMiningRound',
      validatorRewardCouponCids: '[ContractId ValidatorRewardCoupon]',
      appCouponCids: '[ContractId AppRewardCoupon]',
      svRewardCouponCids: '[ContractId SvRewardCoupon]',
      optValidatorLivenessActivityRecordCids: 'Optional [ContractId ValidatorLivenessActivityRecord]',
    },
    'AmuletRules_ClaimExpiredRewardsResult',
  ),
  AmuletRules_ConvertFeaturedAppActivityMarkers: nonconsuming(
    {
      markerCids: '[ContractId Splice.Amulet:FeaturedAppActivityMarker]',
      openMiningRoundCid: 'ContractId OpenMiningRound',
      observers: 'Optional [Party]',
    },
    'AmuletRules_ConvertFeaturedAppActivityMarkersResult',
  ),
};

const results: ModuleDeclaration = {
  AmuletRules_StartProcessingRewardsV2Result: record({}),
  AmuletRules_MergeMemberTrafficContractsResult: record({ mergedTrafficCid: 'ContractId MemberTraffic' }),
  OpenMiningRoundSummary: record({
    totalValidatorRewardCoupons: 'Decimal',
    totalFeaturedAppRewardCoupons: 'Decimal',
    totalUnfeaturedAppRewardCoupons: 'Decimal',
    totalSvRewardWeight: 'Int',
    optTotalValidatorFaucetCoupons: 'Optional Int',
  }),
  AmuletRules_AdvanceOpenMiningRoundsResult: record({
    summarizingRoundCid: 'ContractId SummarizingMiningRound',
    openRoundCid: 'ContractId OpenMiningRound',
  }),
  AmuletRules_MiningRound_StartIssuingResult: record({ issuingRoundCid: 'ContractId IssuingMiningRound' }),
  AmuletRules_MiningRound_CloseResult: record({ closedRoundCid: 'ContractId ClosedMiningRound' }),
  AmuletRules_MiningRound_ArchiveResult: record({}),
  AmuletRules_ClaimExpiredRewardsResult: record({ unclaimedRewardCid: 'Optional (ContractId UnclaimedReward)' }),
  AmuletRules_ConvertFeaturedAppActivityMarkersResult: record({
    appRewardCouponCids: '[ContractId AppRewardCoupon]',
  }),
};

/** The choices of AmuletRules for these rewards, and the types of its module. */
export const rewardRules = { choices, results };
