/**
 * The Amulet of the Global Synchronizer: the part of splice-amulet that the demo's traffic uses. Names are those of
 * splice-amulet. Of AmuletRules and its choices, only the fields that the demo needs are declared.
 */
import { consuming, enumeration, nonconsuming, record, template, variant } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { featuredApp } from './featured-app.ts';
import { rewardAccounting, rewardRules, validatorLicense } from './amulet-rewards.ts';
import { allocationsV2, governanceLocks, lockingRules } from './amulet-locks.ts';
import { tokenStandard } from './token-standard.ts';
import { tokenStandardV2 } from './token-standard-v2.ts';
import { v1, v2 } from './versions.ts';

const issuances = {
  issuancePerValidatorRewardCoupon: 'Decimal',
  issuancePerFeaturedAppRewardCoupon: 'Decimal',
  issuancePerUnfeaturedAppRewardCoupon: 'Decimal',
  issuancePerSvRewardCoupon: 'Decimal',
};

export const spliceAmulet = writePackage({
  name: 'splice-amulet',
  version: '0.1.25',
  imports: [...tokenStandard, ...tokenStandardV2, featuredApp],
  modules: {
    'Splice.Types': { Round: record({ number: 'Int' }) },
    'Splice.Fees': {
      RatePerRound: record({ rate: 'Decimal' }),
      FixedFee: record({ fee: 'Decimal' }),
      SteppedRate: record({ initialRate: 'Decimal', steps: '[(Decimal, Decimal)]' }),
      ExpiringAmount: record({ initialAmount: 'Decimal', createdAt: 'Round', ratePerRound: 'RatePerRound' }),
    },
    'Splice.Expiry': { TimeLock: record({ holders: '[Party]', expiresAt: 'Time', optContext: 'Optional Text' }) },
    'Splice.AmuletConfig': {
      RewardKind: enumeration('RewardKind_App', 'RewardKind_Validator'),
      TransferConfig: record({
        createFee: 'FixedFee',
        holdingFee: 'RatePerRound',
        transferFee: 'SteppedRate',
        lockHolderFee: 'FixedFee',
        extraFeaturedAppRewardAmount: 'Decimal',
        maxNumInputs: 'Int',
        maxNumOutputs: 'Int',
        maxNumLockHolders: 'Int',
      }),
    },
    'Splice.Issuance': {
      IssuanceConfig: record({
        amuletToIssuePerYear: 'Decimal',
        validatorRewardPercentage: 'Decimal',
        appRewardPercentage: 'Decimal',
        validatorRewardCap: 'Decimal',
        featuredAppRewardCap: 'Decimal',
        unfeaturedAppRewardCap: 'Decimal',
        optValidatorFaucetCap: 'Optional Decimal',
      }),
    },
    'Splice.Amulet': {
      AmuletExpireSummary: record({
        owner: 'Party',
        round: 'Round',
        changeToInitialAmountAsOfRoundZero: 'Decimal',
        changeToHoldingFeesRate: 'Decimal',
      }),
      AmuletCreateSummary: record({ amulet: 'cid', amuletPrice: 'Decimal', round: 'Round' }, 'cid'),
      Amulet_ExpireResult: record({ expireSum: 'AmuletExpireSummary', meta: 'Optional Metadata' }),
      LockedAmulet_UnlockResult: record({
        amuletSum: 'AmuletCreateSummary (ContractId Amulet)',
        meta: 'Optional Metadata',
      }),
      LockedAmulet_OwnerExpireLockResult: record({
        amuletSum: 'AmuletCreateSummary (ContractId Amulet)',
        meta: 'Optional Metadata',
      }),
      AppRewardCoupon_DsoExpireResult: record({ featured: 'Bool', amount: 'Decimal' }),
      ValidatorRewardCoupon_DsoExpireResult: record({ amount: 'Decimal' }),
      ValidatorRewardCoupon_ArchiveAsValidatorResult: record({}),
      SvRewardCoupon_DsoExpireResult: record({ weight: 'Int' }),
      SvRewardCoupon_ArchiveAsBeneficiaryResult: record({}),
      Amulet: template(
        { dso: 'Party', owner: 'Party', amount: 'ExpiringAmount' },
        {
          implements: [v1('Holding', 'Holding')],
          choices: { Amulet_Expire: consuming({ roundCid: 'ContractId OpenMiningRound' }, 'Amulet_ExpireResult') },
        },
      ),
      LockedAmulet: template(
        { amulet: 'Amulet', lock: 'TimeLock' },
        {
          implements: [v1('Holding', 'Holding'), v2('Holding', 'Holding')],
          choices: {
            LockedAmulet_Unlock: consuming({ openRoundCid: 'ContractId OpenMiningRound' }, 'LockedAmulet_UnlockResult'),
            LockedAmulet_OwnerExpireLock: consuming(
              { openRoundCid: 'ContractId OpenMiningRound' },
              'LockedAmulet_OwnerExpireLockResult',
            ),
          },
        },
      ),
      AppRewardCoupon: template(
        {
          dso: 'Party',
          provider: 'Party',
          featured: 'Bool',
          amount: 'Decimal',
          round: 'Round',
          beneficiary: 'Optional Party',
        },
        {
          choices: {
            AppRewardCoupon_DsoExpire: consuming(
              { closedRoundCid: 'ContractId ClosedMiningRound' },
              'AppRewardCoupon_DsoExpireResult',
            ),
          },
        },
      ),
      ValidatorRewardCoupon: template(
        { dso: 'Party', user: 'Party', amount: 'Decimal', round: 'Round' },
        {
          choices: {
            ValidatorRewardCoupon_DsoExpire: consuming(
              { closedRoundCid: 'ContractId ClosedMiningRound' },
              'ValidatorRewardCoupon_DsoExpireResult',
            ),
            ValidatorRewardCoupon_ArchiveAsValidator: consuming(
              { validator: 'Party', rightCid: 'ContractId ValidatorRight' },
              'ValidatorRewardCoupon_ArchiveAsValidatorResult',
            ),
          },
        },
      ),
      SvRewardCoupon: template(
        { dso: 'Party', sv: 'Party', beneficiary: 'Party', round: 'Round', weight: 'Int' },
        {
          choices: {
            SvRewardCoupon_DsoExpire: consuming(
              { closedRoundCid: 'ContractId ClosedMiningRound' },
              'SvRewardCoupon_DsoExpireResult',
            ),
            SvRewardCoupon_ArchiveAsBeneficiary: consuming({}, 'SvRewardCoupon_ArchiveAsBeneficiaryResult'),
          },
        },
      ),
      RewardCouponV2: template({
        dso: 'Party',
        provider: 'Party',
        round: 'Round',
        amount: 'Decimal',
        expiresAt: 'Time',
        providerIsObserver: 'Bool',
        beneficiary: 'Optional Party',
        kind: 'Optional RewardKind',
      }),
      DevelopmentFundCoupon: template({
        dso: 'Party',
        beneficiary: 'Party',
        fundManager: 'Party',
        amount: 'Decimal',
        expiresAt: 'Time',
        reason: 'Text',
        mintAfter: 'Optional Time',
      }),
      ValidatorRight: template({ dso: 'Party', user: 'Party', validator: 'Party' }),
      UnclaimedReward: template({ dso: 'Party', amount: 'Decimal' }),
      FeaturedAppRight: template(
        { dso: 'Party', provider: 'Party', activityWeight: 'Optional Decimal' },
        { implements: ['Splice.Api.FeaturedAppRightV1:FeaturedAppRight'] },
      ),
      FeaturedAppActivityMarker: template(
        { dso: 'Party', provider: 'Party', beneficiary: 'Party', weight: 'Decimal' },
        { implements: ['Splice.Api.FeaturedAppRightV1:FeaturedAppActivityMarker'] },
      ),
    },
    'Splice.Round': {
      OpenMiningRound: template({
        dso: 'Party',
        round: 'Round',
        amuletPrice: 'Decimal',
        opensAt: 'Time',
        targetClosesAt: 'Time',
        issuingFor: 'RelTime',
        transferConfigUsd: 'TransferConfig',
        issuanceConfig: 'IssuanceConfig',
        tickDuration: 'RelTime',
        trafficPrice: 'Optional Decimal',
      }),
      SummarizingMiningRound: template({
        dso: 'Party',
        round: 'Round',
        amuletPrice: 'Decimal',
        issuanceConfig: 'IssuanceConfig',
        tickDuration: 'RelTime',
        trafficPrice: 'Optional Decimal',
      }),
      IssuingMiningRound: template({
        dso: 'Party',
        round: 'Round',
        ...issuances,
        opensAt: 'Time',
        targetClosesAt: 'Time',
        optIssuancePerValidatorFaucetCoupon: 'Optional Decimal',
      }),
      ClosedMiningRound: template({
        dso: 'Party',
        round: 'Round',
        ...issuances,
        optIssuancePerValidatorFaucetCoupon: 'Optional Decimal',
      }),
    },
    'Splice.Amulet.CryptoHash': { Hash: record({ value: 'Text' }) },
    'Splice.Amulet.RewardAccountingV2': rewardAccounting,
    'Splice.ExternalPartyConfigState': {
      ExternalPartyConfigState: template(
        {
          dso: 'Party',
          holdingFeesOpenRoundNumber: 'Round',
          amuletPrice: 'Decimal',
          targetArchiveAfter: 'Time',
          trafficPrice: 'Optional Decimal',
          minTrafficTopupAmount: 'Optional Int',
        },
        { implements: [v2('TransferEvents', 'EventLog')] },
      ),
    },
    'Splice.ValidatorLicense': validatorLicense,
    'Splice.AmuletRules': {
      TransferInput: variant({
        InputAmulet: 'ContractId Amulet',
        InputAppRewardCoupon: 'ContractId AppRewardCoupon',
        InputValidatorRewardCoupon: 'ContractId ValidatorRewardCoupon',
        InputSvRewardCoupon: 'ContractId SvRewardCoupon',
        InputValidatorLivenessActivityRecord: 'ContractId ValidatorLivenessActivityRecord',
        InputDevelopmentFundCoupon: 'ContractId DevelopmentFundCoupon',
        InputRewardCouponV2: 'ContractId RewardCouponV2',
      }),
      TransferOutput: record({
        receiver: 'Party',
        receiverFeeRatio: 'Decimal',
        amount: 'Decimal',
        lock: 'Optional TimeLock',
      }),
      Transfer: record({
        sender: 'Party',
        provider: 'Party',
        inputs: '[TransferInput]',
        outputs: '[TransferOutput]',
      }),
      CreatedAmulet: variant({
        TransferResultAmulet: 'ContractId Amulet',
        TransferResultLockedAmulet: 'ContractId LockedAmulet',
      }),
      TransferContext: record({
        openMiningRound: 'ContractId OpenMiningRound',
        issuingMiningRounds: 'Map Round (ContractId IssuingMiningRound)',
        validatorRights: 'Map Party (ContractId ValidatorRight)',
        featuredAppRight: 'Optional (ContractId Splice.Amulet:FeaturedAppRight)',
      }),
      BalanceChange: record({ changeToInitialAmountAsOfRoundZero: 'Decimal', changeToHoldingFeesRate: 'Decimal' }),
      TransferSummary: record({
        inputAppRewardAmount: 'Decimal',
        inputValidatorRewardAmount: 'Decimal',
        inputSvRewardAmount: 'Decimal',
        inputAmuletAmount: 'Decimal',
        balanceChanges: 'Map Party BalanceChange',
        holdingFees: 'Decimal',
        outputFees: '[Decimal]',
        senderChangeFee: 'Decimal',
        senderChangeAmount: 'Decimal',
        amuletPrice: 'Decimal',
        inputValidatorFaucetAmount: 'Optional Decimal',
        inputUnclaimedActivityRecordAmount: 'Optional Decimal',
        inputDevelopmentFundAmount: 'Optional Decimal',
      }),
      TransferResult: record({
        round: 'Round',
        summary: 'TransferSummary',
        createdAmulets: '[CreatedAmulet]',
        senderChangeAmulet: 'Optional (ContractId Amulet)',
        meta: 'Optional Metadata',
      }),
      AmuletRules_BuyMemberTrafficResult: record({
        round: 'Round',
        summary: 'TransferSummary',
        amuletPaid: 'Decimal',
        purchasedTraffic: 'ContractId MemberTraffic',
        senderChangeAmulet: 'Optional (ContractId Amulet)',
        meta: 'Optional Metadata',
      }),
      ...rewardRules.results,
      AmuletRules_MintResult: record({ amuletSum: 'AmuletCreateSummary (ContractId Amulet)' }),
      AmuletRules: template(
        { dso: 'Party', isDevNet: 'Bool' },
        {
          choices: {
            AmuletRules_Transfer: nonconsuming(
              { transfer: 'Transfer', context: 'TransferContext', expectedDso: 'Optional Party' },
              'TransferResult',
            ),
            AmuletRules_BuyMemberTraffic: nonconsuming(
              {
                inputs: '[TransferInput]',
                context: 'TransferContext',
                provider: 'Party',
                memberId: 'Text',
                synchronizerId: 'Text',
                migrationId: 'Int',
                trafficAmount: 'Int',
                expectedDso: 'Optional Party',
              },
              'AmuletRules_BuyMemberTrafficResult',
            ),
            ...rewardRules.choices,
            AmuletRules_Mint: nonconsuming(
              { receiver: 'Party', amount: 'Decimal', openRound: 'ContractId OpenMiningRound' },
              'AmuletRules_MintResult',
            ),
          },
        },
      ),
    },
    'Splice.ExternalPartyAmuletRules': {
      ...lockingRules.results,
      ExternalPartyAmuletRules: template(
        { dso: 'Party' },
        {
          implements: [
            v1('TransferInstruction', 'TransferFactory'),
            v1('AllocationInstruction', 'AllocationFactory'),
            v2('AllocationInstruction', 'AllocationFactory'),
          ],
          choices: lockingRules.choices,
        },
      ),
    },
    'Splice.AmuletTransferInstruction': {
      AmuletTransferInstruction: template(
        { lockedAmulet: 'ContractId LockedAmulet', transfer: 'Splice.Api.Token.TransferInstructionV1:Transfer' },
        { implements: [v1('TransferInstruction', 'TransferInstruction')] },
      ),
    },
    'Splice.AmuletAllocation': {
      AmuletAllocation: template(
        { lockedAmulet: 'ContractId LockedAmulet', allocation: v1('Allocation', 'AllocationSpecification') },
        { implements: [v1('Allocation', 'Allocation')] },
      ),
    },
    'Splice.AmuletAllocationV2': allocationsV2,
    'Splice.GovernanceLock': governanceLocks,
    'Splice.DecentralizedSynchronizer': {
      MemberTraffic: template({
        dso: 'Party',
        memberId: 'Text',
        synchronizerId: 'Text',
        migrationId: 'Int',
        totalPurchased: 'Int',
        numPurchases: 'Int',
        amuletSpent: 'Decimal',
        usdSpent: 'Decimal',
      }),
    },
  },
});
