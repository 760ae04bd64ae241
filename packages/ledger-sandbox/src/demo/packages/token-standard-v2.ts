/** The interfaces of version 2 of the token standard (CIP-112), with their real names and fields. */
import { interfaceDefinition, enumeration, nonconsuming, record, variant } from '../../daml-lf/declaration.ts';
import type { Definition, Fields } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { library } from './library.ts';
import { metadata } from './token-standard.ts';

const version = '1.0.0';
const actingParties: Fields = { actors: '[Party]', extraArgs: 'ExtraArgs' };

export const holdingV2 = writePackage({
  name: 'splice-api-token-holding-v2',
  version,
  imports: [...library, metadata],
  modules: {
    'Splice.Api.Token.HoldingV2': {
      Account: record({ owner: 'Optional Party', provider: 'Optional Party', id: 'Text' }),
      InstrumentId: record({ admin: 'Party', id: 'Text' }),
      Lock: record({
        holders: '[Party]',
        expiresAt: 'Optional Time',
        expiresAfter: 'Optional RelTime',
        context: 'Optional Text',
      }),
      HoldingView: record({
        account: 'Account',
        instrumentId: 'InstrumentId',
        amount: 'Decimal',
        lock: 'Optional Lock',
        meta: 'Metadata',
      }),
      Holding: interfaceDefinition('HoldingView'),
    },
  },
});

const transferLegSide = record({
  transferLegId: 'Text',
  side: 'TransferSide',
  otherside: 'Account',
  amount: 'Decimal',
  instrumentId: 'Text',
  meta: 'Metadata',
});
const transferSide = enumeration('SenderSide', 'ReceiverSide');

export const transferEventsV2 = writePackage({
  name: 'splice-api-token-transfer-events-v2',
  version,
  imports: [...library, metadata, holdingV2],
  modules: {
    'Splice.Api.Token.TransferEventsV2': {
      TransferSide: transferSide,
      TransferLegSide: transferLegSide,
      EventLogView: record({ admin: 'Party', meta: 'Metadata' }),
      EventLog_HoldingsChangeResult: record({}),
      EventLog: interfaceDefinition('EventLogView', {
        EventLog_HoldingsChange: nonconsuming(
          {
            admin: 'Party',
            account: 'Account',
            inputHoldingCids: '[ContractId Holding]',
            transferLegSides: '[TransferLegSide]',
            outputHoldingCids: '[ContractId Holding]',
            observers: '[Party]',
            extraArgs: 'ExtraArgs',
          },
          'EventLog_HoldingsChangeResult',
        ),
      }),
    },
  },
});

/**
 * The actions on a pending contract.
 * @param prefix of the names of the cases
 */
function actionsOf(prefix: string, ...actions: readonly string[]): Definition {
  const cases = actions.map((action) => [`${prefix}_${action}`, '()'] as const);
  return variant({ ...Object.fromEntries(cases), [`${prefix}_Custom`]: { id: 'Text' } });
}

export const transferInstructionV2 = writePackage({
  name: 'splice-api-token-transfer-instruction-v2',
  version,
  imports: [...library, metadata, holdingV2],
  modules: {
    'Splice.Api.Token.TransferInstructionV2': {
      Transfer: record({
        sender: 'Account',
        receiver: 'Account',
        amount: 'Decimal',
        instrumentId: 'InstrumentId',
        requestedAt: 'Time',
        executeBefore: 'Time',
        inputHoldingCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      TransferInstructionAction: actionsOf('TIA', 'Accept', 'Reject', 'Withdraw'),
      TransferInstructionView: record({
        originalInstructionCid: 'Optional (ContractId TransferInstruction)',
        transfer: 'Transfer',
        expiresAt: 'Optional Time',
        availableActions: 'Map TransferInstructionAction [[Party]]',
        meta: 'Metadata',
      }),
      TransferInstructionResult_Output: variant({
        TransferInstructionResult_Pending: { transferInstructionCid: 'ContractId TransferInstruction' },
        TransferInstructionResult_Completed: { receiverHoldingCids: '[ContractId Holding]' },
        TransferInstructionResult_Failed: '()',
      }),
      TransferInstructionResult: record({
        output: 'TransferInstructionResult_Output',
        senderChangeCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      TransferInstruction: interfaceDefinition('TransferInstructionView', {
        TransferInstruction_Accept: nonconsuming(actingParties, 'TransferInstructionResult'),
        TransferInstruction_Reject: nonconsuming(actingParties, 'TransferInstructionResult'),
        TransferInstruction_Withdraw: nonconsuming(actingParties, 'TransferInstructionResult'),
      }),
      TransferFactoryView: record({ admin: 'Party', meta: 'Metadata' }),
      TransferFactory: interfaceDefinition('TransferFactoryView', {
        TransferFactory_Transfer: nonconsuming({ transfer: 'Transfer', ...actingParties }, 'TransferInstructionResult'),
        TransferFactory_PublicFetch: nonconsuming({ actors: '[Party]' }, 'TransferFactoryView'),
      }),
    },
  },
});

export const allocationV2 = writePackage({
  name: 'splice-api-token-allocation-v2',
  version,
  imports: [...library, metadata, holdingV2],
  modules: {
    'Splice.Api.Token.AllocationV2': {
      TransferSide: transferSide,
      TransferLegSide: transferLegSide,
      TransferLeg: record({
        transferLegId: 'Text',
        sender: 'Account',
        receiver: 'Account',
        amount: 'Decimal',
        instrumentId: 'Text',
        meta: 'Metadata',
      }),
      SettlementInfo: record({
        executors: '[Party]',
        id: 'Text',
        cid: 'Optional (ContractId AnyContract)',
        meta: 'Metadata',
      }),
      AllocationSpecification: record({
        admin: 'Party',
        authorizer: 'Account',
        transferLegSides: '[TransferLegSide]',
        settlementDeadline: 'Optional Time',
        nextIterationFunding: 'Optional (TextMap Decimal)',
        committed: 'Bool',
        meta: 'Metadata',
      }),
      AllocationAction: actionsOf('AA', 'Settle', 'Cancel', 'Withdraw'),
      AllocationView: record({
        originalAllocationCid: 'Optional (ContractId Allocation)',
        settlement: 'SettlementInfo',
        allocation: 'AllocationSpecification',
        holdingCids: '[ContractId Holding]',
        createdAt: 'Time',
        numIterations: 'Int',
        expiresAt: 'Optional Time',
        availableActions: 'Map AllocationAction [[Party]]',
        meta: 'Metadata',
      }),
      AllocationResult_Output: variant({
        AllocationResult_Pending: { allocationCid: 'ContractId Allocation' },
        AllocationResult_Settled: { nextIterationAllocationCid: 'Optional (ContractId Allocation)' },
        AllocationResult_Cancelled: '()',
        AllocationResult_Withdrawn: '()',
      }),
      AllocationResult: record({
        output: 'AllocationResult_Output',
        authorizerHoldingCids: 'TextMap [ContractId Holding]',
        meta: 'Metadata',
      }),
      Allocation: interfaceDefinition('AllocationView', {
        Allocation_Settle: nonconsuming(
          {
            actors: '[Party]',
            extraTransferLegSides: '[TransferLegSide]',
            nextIterationFunding: 'Optional (TextMap Decimal)',
            extraArgs: 'ExtraArgs',
          },
          'AllocationResult',
        ),
        Allocation_Cancel: nonconsuming(actingParties, 'AllocationResult'),
        Allocation_Withdraw: nonconsuming(actingParties, 'AllocationResult'),
      }),
      FinalizedAllocation: record({
        allocationCid: 'ContractId Allocation',
        extraTransferLegSides: '[TransferLegSide]',
        nextIterationFunding: 'Optional (TextMap Decimal)',
      }),
      SettlementFactoryView: record({ admin: 'Party', meta: 'Metadata' }),
      SettlementFactory_SettleBatchResult: record({
        allocationSettleResults: '[AllocationResult]',
        meta: 'Metadata',
      }),
      SettlementFactory: interfaceDefinition('SettlementFactoryView', {
        SettlementFactory_SettleBatch: nonconsuming(
          {
            settlement: 'SettlementInfo',
            transferLegs: '[TransferLeg]',
            allocations: '[FinalizedAllocation]',
            ...actingParties,
          },
          'SettlementFactory_SettleBatchResult',
        ),
        SettlementFactory_PublicFetch: nonconsuming({ actors: '[Party]' }, 'SettlementFactoryView'),
      }),
    },
  },
});

export const allocationInstructionV2 = writePackage({
  name: 'splice-api-token-allocation-instruction-v2',
  version,
  imports: [...library, metadata, holdingV2, allocationV2],
  modules: {
    'Splice.Api.Token.AllocationInstructionV2': {
      AllocationInstructionAction: actionsOf('AIA', 'Withdraw', 'Accept'),
      AllocationInstructionView: record({
        originalInstructionCid: 'Optional (ContractId AllocationInstruction)',
        settlement: 'SettlementInfo',
        allocation: 'AllocationSpecification',
        requestedAt: 'Time',
        inputHoldingCids: '[ContractId Holding]',
        expiresAt: 'Optional Time',
        availableActions: 'Map AllocationInstructionAction [[Party]]',
        meta: 'Metadata',
      }),
      AllocationInstructionResult_Output: variant({
        AllocationInstructionResult_Pending: { allocationInstructionCid: 'ContractId AllocationInstruction' },
        AllocationInstructionResult_Completed: { allocationCid: 'ContractId Allocation' },
        AllocationInstructionResult_Failed: '()',
      }),
      AllocationInstructionResult: record({
        output: 'AllocationInstructionResult_Output',
        authorizerChangeCids: 'TextMap [ContractId Holding]',
        meta: 'Metadata',
      }),
      AllocationInstruction: interfaceDefinition('AllocationInstructionView', {
        AllocationInstruction_Withdraw: nonconsuming(actingParties, 'AllocationInstructionResult'),
        AllocationInstruction_Accept: nonconsuming(actingParties, 'AllocationInstructionResult'),
      }),
      AllocationFactoryView: record({ admin: 'Party', meta: 'Metadata' }),
      AllocationFactory: interfaceDefinition('AllocationFactoryView', {
        AllocationFactory_Allocate: nonconsuming(
          {
            settlement: 'SettlementInfo',
            allocation: 'AllocationSpecification',
            requestedAt: 'Time',
            inputHoldingCids: '[ContractId Holding]',
            extraArgs: 'ExtraArgs',
            actors: '[Party]',
          },
          'AllocationInstructionResult',
        ),
        AllocationFactory_PublicFetch: nonconsuming({ actors: '[Party]' }, 'AllocationFactoryView'),
      }),
    },
  },
});

/** The packages of version 2. They coexist with those of version 1 and use the same metadata. */
export const tokenStandardV2 = [
  holdingV2,
  transferEventsV2,
  transferInstructionV2,
  allocationV2,
  allocationInstructionV2,
];
