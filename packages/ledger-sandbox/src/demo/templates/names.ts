/** Names of the demo's interfaces and templates, as `package-name:Module:Entity`. Those of Splice are the real ones. */

const token = (api: string, module: string, entity: string): string =>
  `splice-api-token-${api}-v1:Splice.Api.Token.${module}V1:${entity}`;

/** The interfaces of the token standard (CIP-56). */
export const interfaces = {
  holding: token('holding', 'Holding', 'Holding'),
  transferFactory: token('transfer-instruction', 'TransferInstruction', 'TransferFactory'),
  transferInstruction: token('transfer-instruction', 'TransferInstruction', 'TransferInstruction'),
  allocation: token('allocation', 'Allocation', 'Allocation'),
  allocationRequest: token('allocation-request', 'AllocationRequest', 'AllocationRequest'),
  allocationFactory: token('allocation-instruction', 'AllocationInstruction', 'AllocationFactory'),
} as const;

/** The templates that are not part of an instrument. */
export const names = {
  lockedAmulet: 'splice-amulet:Splice.Amulet:LockedAmulet',
  amuletRules: 'splice-amulet:Splice.AmuletRules:AmuletRules',
  appRewardCoupon: 'splice-amulet:Splice.Amulet:AppRewardCoupon',
  validatorRewardCoupon: 'splice-amulet:Splice.Amulet:ValidatorRewardCoupon',
  openRound: 'splice-amulet:Splice.Round:OpenMiningRound',
  closedRound: 'splice-amulet:Splice.Round:ClosedMiningRound',
  memberTraffic: 'splice-amulet:Splice.DecentralizedSynchronizer:MemberTraffic',
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

/** Interfaces of the demo's templates, as a filter names them. */
export const demoInterfaces: readonly string[] = [
  interfaces.holding,
  interfaces.transferInstruction,
  interfaces.allocation,
  interfaces.allocationRequest,
].map((name) => `#${name}`);
