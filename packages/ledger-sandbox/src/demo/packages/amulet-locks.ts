/**
 * The part of splice-amulet that locks Amulet for long: allocations of version 2, which the locks of CIP-0105 are, and
 * locks for featured applications and rights of super validators.
 */
import { consuming, nonconsuming, record, template, variant } from '../../daml-lf/declaration.ts';
import type { ModuleDeclaration } from '../../daml-lf/declaration.ts';
import { v1, v2 } from './versions.ts';

export const allocationsV2: ModuleDeclaration = {
  AmuletAllocationV2: template(
    {
      lockedAmulet: 'Optional (ContractId LockedAmulet)',
      settlement: v2('Allocation', 'SettlementInfo'),
      allocation: v2('Allocation', 'AllocationSpecification'),
      dso: 'Party',
      expiresAt: 'Time',
      numIterations: 'Int',
      createdAt: 'Time',
      meta: 'Metadata',
    },
    { implements: [v2('Allocation', 'Allocation')] },
  ),
};

const anyHolding = `ContractId ${v1('Holding', 'Holding')}`;
const signed = { extraArgs: 'ExtraArgs', actors: '[Party]' };

export const governanceLocks: ModuleDeclaration = {
  GovernanceLockKind: variant({
    GLK_FeaturedApp: { provider: 'Party' },
    GLK_SuperValidatorRightsOwner: { svName: 'Text' },
  }),
  GovernanceLockSpecification: record({ kind: 'GovernanceLockKind' }),
  VestingLockSpecification: record({ kind: 'GovernanceLockKind' }),
  GovernanceLock_UnlockResult: record({
    vestingLock: 'ContractId VestingLock',
    governanceLock: 'Optional (ContractId GovernanceLock)',
  }),
  VestingLock_WithdrawResult: record({
    vestingLock: 'Optional (ContractId VestingLock)',
    vested: `ContractId ${v1('Holding', 'Holding')}`,
  }),
  VestingLock_DsoExpireResult: record({}),
  GovernanceLock: template(
    {
      dso: 'Party',
      owner: 'Party',
      amount: 'Decimal',
      lockedAmulet: 'ContractId LockedAmulet',
      specification: 'GovernanceLockSpecification',
    },
    {
      choices: {
        GovernanceLock_Unlock: consuming(
          { unlockAmount: 'Optional Decimal', unlockAt: 'Time', ...signed },
          'GovernanceLock_UnlockResult',
        ),
      },
    },
  ),
  VestingLock: template(
    {
      dso: 'Party',
      owner: 'Party',
      lockedAmulet: 'ContractId LockedAmulet',
      vestingPeriod: 'RelTime',
      endTime: 'Time',
      vestingAmount: 'Decimal',
      specification: 'VestingLockSpecification',
    },
    {
      choices: {
        VestingLock_Withdraw: consuming({ requestedAt: 'Time', ...signed }, 'VestingLock_WithdrawResult'),
        VestingLock_DsoExpire: consuming({}, 'VestingLock_DsoExpireResult'),
      },
    },
  ),
};

/** The choice of the rules that locks Amulet, and its result. */
export const lockingRules = {
  results: {
    ExternalPartyAmuletRules_LockForGovernanceResult: record({
      governanceLock: 'ContractId GovernanceLock',
      changeHolding: 'Optional (ContractId Amulet)',
    }),
  },
  choices: {
    ExternalPartyAmuletRules_LockForGovernance: nonconsuming(
      {
        amount: 'Decimal',
        inputs: `[${anyHolding}]`,
        specification: 'GovernanceLockSpecification',
        extraArgs: 'ExtraArgs',
        owner: 'Party',
      },
      'ExternalPartyAmuletRules_LockForGovernanceResult',
    ),
  },
};
