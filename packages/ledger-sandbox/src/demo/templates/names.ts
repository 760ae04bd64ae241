/**
 * Names of the demo's interfaces and templates, as `package-name:Module:Entity`. Names of Splice are those of its
 * packages.
 */

const token = (version: 1 | 2, api: string, module: string, entity: string): string =>
  `splice-api-token-${api}-v${version}:Splice.Api.Token.${module}V${version}:${entity}`;

/** The interfaces of version 1 of the token standard (CIP-56). */
export const interfaces = {
  holding: token(1, 'holding', 'Holding', 'Holding'),
  transferFactory: token(1, 'transfer-instruction', 'TransferInstruction', 'TransferFactory'),
  transferInstruction: token(1, 'transfer-instruction', 'TransferInstruction', 'TransferInstruction'),
  allocation: token(1, 'allocation', 'Allocation', 'Allocation'),
  allocationRequest: token(1, 'allocation-request', 'AllocationRequest', 'AllocationRequest'),
  allocationFactory: token(1, 'allocation-instruction', 'AllocationInstruction', 'AllocationFactory'),
} as const;

/** The interfaces of version 2 (CIP-112). */
export const interfacesV2 = {
  holding: token(2, 'holding', 'Holding', 'Holding'),
  eventLog: token(2, 'transfer-events', 'TransferEvents', 'EventLog'),
  transferFactory: token(2, 'transfer-instruction', 'TransferInstruction', 'TransferFactory'),
  transferInstruction: token(2, 'transfer-instruction', 'TransferInstruction', 'TransferInstruction'),
  allocation: token(2, 'allocation', 'Allocation', 'Allocation'),
  settlementFactory: token(2, 'allocation', 'Allocation', 'SettlementFactory'),
  allocationFactory: token(2, 'allocation-instruction', 'AllocationInstruction', 'AllocationFactory'),
} as const;

/** The interfaces with which applications mark their activity. */
export const featuredAppInterfaces = {
  right: 'splice-api-featured-app-v1:Splice.Api.FeaturedAppRightV1:FeaturedAppRight',
  activityMarker: 'splice-api-featured-app-v1:Splice.Api.FeaturedAppRightV1:FeaturedAppActivityMarker',
} as const;

/** The templates that are not part of an instrument. */
export const names = {
  lockedAmulet: 'splice-amulet:Splice.Amulet:LockedAmulet',
  amuletRules: 'splice-amulet:Splice.AmuletRules:AmuletRules',
  appRewardCoupon: 'splice-amulet:Splice.Amulet:AppRewardCoupon',
  validatorRewardCoupon: 'splice-amulet:Splice.Amulet:ValidatorRewardCoupon',
  svRewardCoupon: 'splice-amulet:Splice.Amulet:SvRewardCoupon',
  rewardCoupon: 'splice-amulet:Splice.Amulet:RewardCouponV2',
  developmentCoupon: 'splice-amulet:Splice.Amulet:DevelopmentFundCoupon',
  calculateRewards: 'splice-amulet:Splice.Amulet.RewardAccountingV2:CalculateRewardsV2',
  processRewards: 'splice-amulet:Splice.Amulet.RewardAccountingV2:ProcessRewardsV2',
  externalPartyConfig: 'splice-amulet:Splice.ExternalPartyConfigState:ExternalPartyConfigState',
  livenessRecord: 'splice-amulet:Splice.ValidatorLicense:ValidatorLivenessActivityRecord',
  validatorLicense: 'splice-amulet:Splice.ValidatorLicense:ValidatorLicense',
  validatorRight: 'splice-amulet:Splice.Amulet:ValidatorRight',
  unclaimedReward: 'splice-amulet:Splice.Amulet:UnclaimedReward',
  featuredAppRight: 'splice-amulet:Splice.Amulet:FeaturedAppRight',
  activityMarker: 'splice-amulet:Splice.Amulet:FeaturedAppActivityMarker',
  openRound: 'splice-amulet:Splice.Round:OpenMiningRound',
  summarizingRound: 'splice-amulet:Splice.Round:SummarizingMiningRound',
  issuingRound: 'splice-amulet:Splice.Round:IssuingMiningRound',
  closedRound: 'splice-amulet:Splice.Round:ClosedMiningRound',
  amuletAllocationV2: 'splice-amulet:Splice.AmuletAllocationV2:AmuletAllocationV2',
  governanceLock: 'splice-amulet:Splice.GovernanceLock:GovernanceLock',
  vestingLock: 'splice-amulet:Splice.GovernanceLock:VestingLock',
  nameEntry: 'splice-amulet-name-service:Splice.Ans:AnsEntry',
  memberTraffic: 'splice-amulet:Splice.DecentralizedSynchronizer:MemberTraffic',
  depositRules: 'tidewater-deposits:Tidewater.Deposits:DepositRules',
  deposit: 'tidewater-deposits:Tidewater.Deposits:Deposit',
  depositTransfer: 'tidewater-deposits:Tidewater.Deposits:DepositTransfer',
  depositAllocation: 'tidewater-deposits:Tidewater.Deposits:DepositAllocation',
  depositLegAllocation: 'tidewater-deposits:Tidewater.Deposits:DepositLegAllocation',
  mintRequest: 'harbor-stablecoin:Harbor.StableCoin:MintRequest',
  issueRequest: 'meridian-bonds:Meridian.Bonds:IssueRequest',
  tradeProposal: 'splice-token-test-trading-app:Splice.Testing.Apps.TradingApp:OTCTradeProposal',
  trade: 'splice-token-test-trading-app:Splice.Testing.Apps.TradingApp:OTCTrade',
  license: 'quickstart-licensing:Licensing.License:License',
  renewalRequest: 'quickstart-licensing:Licensing.License:LicenseRenewalRequest',
  installRequest: 'quickstart-licensing:Licensing.AppInstall:AppInstallRequest',
  install: 'quickstart-licensing:Licensing.AppInstall:AppInstall',
  iou: 'model-tests:Iou:Iou',
  iouTransfer: 'model-tests:Iou:IouTransfer',
} as const;

/** Interfaces of the demo's templates, in the form of a filter. */
export const demoInterfaces: readonly string[] = [
  interfaces.holding,
  interfaces.transferInstruction,
  interfaces.allocation,
  interfaces.allocationRequest,
  interfacesV2.holding,
  interfacesV2.transferInstruction,
  interfacesV2.allocation,
].map((name) => `#${name}`);
