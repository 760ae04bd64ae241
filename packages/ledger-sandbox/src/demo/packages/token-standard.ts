/** The interfaces of the token standard (CIP-56), with their real names and fields. */
import { interfaceDefinition, consuming, nonconsuming, record, variant } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { library } from './library.ts';

const version = '1.0.0';

export const metadata = writePackage({
  name: 'splice-api-token-metadata-v1',
  version,
  imports: library,
  modules: {
    'Splice.Api.Token.MetadataV1': {
      AnyContractView: record({}),
      AnyContract: interfaceDefinition('AnyContractView'),
      Metadata: record({ values: 'TextMap Text' }),
      ChoiceContext: record({ values: 'TextMap AnyValue' }),
      ExtraArgs: record({ context: 'ChoiceContext', meta: 'Metadata' }),
      ChoiceExecutionMetadata: record({ meta: 'Metadata' }),
      AnyValue: variant({
        AV_Text: 'Text',
        AV_Int: 'Int',
        AV_Decimal: 'Decimal',
        AV_Bool: 'Bool',
        AV_Date: 'Date',
        AV_Time: 'Time',
        AV_RelTime: 'RelTime',
        AV_Party: 'Party',
        AV_ContractId: 'ContractId AnyContract',
        AV_List: '[AnyValue]',
        AV_Map: 'TextMap AnyValue',
      }),
    },
  },
});

export const holding = writePackage({
  name: 'splice-api-token-holding-v1',
  version,
  imports: [...library, metadata],
  modules: {
    'Splice.Api.Token.HoldingV1': {
      InstrumentId: record({ admin: 'Party', id: 'Text' }),
      Lock: record({
        holders: '[Party]',
        expiresAt: 'Optional Time',
        expiresAfter: 'Optional RelTime',
        context: 'Optional Text',
      }),
      HoldingView: record({
        owner: 'Party',
        instrumentId: 'InstrumentId',
        amount: 'Decimal',
        lock: 'Optional Lock',
        meta: 'Metadata',
      }),
      Holding: interfaceDefinition('HoldingView'),
    },
  },
});

export const transferInstruction = writePackage({
  name: 'splice-api-token-transfer-instruction-v1',
  version,
  imports: [...library, metadata, holding],
  modules: {
    'Splice.Api.Token.TransferInstructionV1': {
      Transfer: record({
        sender: 'Party',
        receiver: 'Party',
        amount: 'Decimal',
        instrumentId: 'InstrumentId',
        requestedAt: 'Time',
        executeBefore: 'Time',
        inputHoldingCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      TransferInstructionStatus: variant({
        TransferPendingReceiverAcceptance: '()',
        TransferPendingInternalWorkflow: { pendingActions: 'Map Party Text' },
      }),
      TransferInstructionView: record({
        originalInstructionCid: 'Optional (ContractId TransferInstruction)',
        transfer: 'Transfer',
        status: 'TransferInstructionStatus',
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
        TransferInstruction_Accept: consuming({ extraArgs: 'ExtraArgs' }, 'TransferInstructionResult'),
        TransferInstruction_Reject: consuming({ extraArgs: 'ExtraArgs' }, 'TransferInstructionResult'),
        TransferInstruction_Withdraw: consuming({ extraArgs: 'ExtraArgs' }, 'TransferInstructionResult'),
        TransferInstruction_Update: consuming(
          { extraActors: '[Party]', extraArgs: 'ExtraArgs' },
          'TransferInstructionResult',
        ),
      }),
      TransferFactoryView: record({ admin: 'Party', meta: 'Metadata' }),
      TransferFactory: interfaceDefinition('TransferFactoryView', {
        TransferFactory_Transfer: nonconsuming(
          { expectedAdmin: 'Party', transfer: 'Transfer', extraArgs: 'ExtraArgs' },
          'TransferInstructionResult',
        ),
        TransferFactory_PublicFetch: nonconsuming({ expectedAdmin: 'Party', actor: 'Party' }, 'TransferFactoryView'),
      }),
    },
  },
});

export const allocation = writePackage({
  name: 'splice-api-token-allocation-v1',
  version,
  imports: [...library, metadata, holding],
  modules: {
    'Splice.Api.Token.AllocationV1': {
      Reference: record({ id: 'Text', cid: 'Optional (ContractId AnyContract)' }),
      SettlementInfo: record({
        executor: 'Party',
        settlementRef: 'Reference',
        requestedAt: 'Time',
        allocateBefore: 'Time',
        settleBefore: 'Time',
        meta: 'Metadata',
      }),
      TransferLeg: record({
        sender: 'Party',
        receiver: 'Party',
        amount: 'Decimal',
        instrumentId: 'InstrumentId',
        meta: 'Metadata',
      }),
      AllocationSpecification: record({
        settlement: 'SettlementInfo',
        transferLegId: 'Text',
        transferLeg: 'TransferLeg',
      }),
      AllocationView: record({
        allocation: 'AllocationSpecification',
        holdingCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      Allocation_ExecuteTransferResult: record({
        senderHoldingCids: '[ContractId Holding]',
        receiverHoldingCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      Allocation_CancelResult: record({ senderHoldingCids: '[ContractId Holding]', meta: 'Metadata' }),
      Allocation_WithdrawResult: record({ senderHoldingCids: '[ContractId Holding]', meta: 'Metadata' }),
      Allocation: interfaceDefinition('AllocationView', {
        Allocation_ExecuteTransfer: consuming({ extraArgs: 'ExtraArgs' }, 'Allocation_ExecuteTransferResult'),
        Allocation_Cancel: consuming({ extraArgs: 'ExtraArgs' }, 'Allocation_CancelResult'),
        Allocation_Withdraw: consuming({ extraArgs: 'ExtraArgs' }, 'Allocation_WithdrawResult'),
      }),
    },
  },
});

export const allocationRequest = writePackage({
  name: 'splice-api-token-allocation-request-v1',
  version,
  imports: [...library, metadata, allocation],
  modules: {
    'Splice.Api.Token.AllocationRequestV1': {
      AllocationRequestView: record({
        settlement: 'SettlementInfo',
        transferLegs: 'TextMap TransferLeg',
        meta: 'Metadata',
      }),
      AllocationRequest: interfaceDefinition('AllocationRequestView', {
        AllocationRequest_Reject: consuming({ actor: 'Party', extraArgs: 'ExtraArgs' }, 'ChoiceExecutionMetadata'),
        AllocationRequest_Withdraw: consuming({ extraArgs: 'ExtraArgs' }, 'ChoiceExecutionMetadata'),
      }),
    },
  },
});

export const allocationInstruction = writePackage({
  name: 'splice-api-token-allocation-instruction-v1',
  version,
  imports: [...library, metadata, holding, allocation],
  modules: {
    'Splice.Api.Token.AllocationInstructionV1': {
      AllocationInstructionView: record({
        originalInstructionCid: 'Optional (ContractId AllocationInstruction)',
        allocation: 'AllocationSpecification',
        pendingActions: 'Map Party Text',
        requestedAt: 'Time',
        inputHoldingCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      AllocationInstructionResult_Output: variant({
        AllocationInstructionResult_Pending: { allocationInstructionCid: 'ContractId AllocationInstruction' },
        AllocationInstructionResult_Completed: { allocationCid: 'ContractId Allocation' },
        AllocationInstructionResult_Failed: '()',
      }),
      AllocationInstructionResult: record({
        output: 'AllocationInstructionResult_Output',
        senderChangeCids: '[ContractId Holding]',
        meta: 'Metadata',
      }),
      AllocationInstruction: interfaceDefinition('AllocationInstructionView', {
        AllocationInstruction_Withdraw: consuming({ extraArgs: 'ExtraArgs' }, 'AllocationInstructionResult'),
        AllocationInstruction_Update: consuming(
          { extraActors: '[Party]', extraArgs: 'ExtraArgs' },
          'AllocationInstructionResult',
        ),
      }),
      AllocationFactoryView: record({ admin: 'Party', meta: 'Metadata' }),
      AllocationFactory: interfaceDefinition('AllocationFactoryView', {
        AllocationFactory_Allocate: nonconsuming(
          {
            expectedAdmin: 'Party',
            allocation: 'AllocationSpecification',
            requestedAt: 'Time',
            inputHoldingCids: '[ContractId Holding]',
            extraArgs: 'ExtraArgs',
          },
          'AllocationInstructionResult',
        ),
        AllocationFactory_PublicFetch: nonconsuming(
          { expectedAdmin: 'Party', actor: 'Party' },
          'AllocationFactoryView',
        ),
      }),
    },
  },
});

/** The packages of the standard and their dependencies, which packages that implement it import. */
export const tokenStandard = [
  ...library,
  metadata,
  holding,
  transferInstruction,
  allocation,
  allocationRequest,
  allocationInstruction,
];
