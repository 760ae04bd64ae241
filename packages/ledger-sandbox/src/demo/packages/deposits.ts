/**
 * A registry of the demo that implements both versions of the token standard: deposits of a bank, in two currencies.
 */
import { consuming, nonconsuming, record, template } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { tokenStandard } from './token-standard.ts';
import { tokenStandardV2 } from './token-standard-v2.ts';
import { v1, v2 } from './versions.ts';

const reservationFields = record({
  settlement: v2('Allocation', 'SettlementInfo'),
  allocation: v2('Allocation', 'AllocationSpecification'),
  holdingCids: '[ContractId Deposit]',
  requestedAt: 'Time',
  allocateBefore: 'Optional Time',
  meta: 'Metadata',
});

export const deposits = writePackage({
  name: 'tidewater-deposits',
  version: '1.0.0',
  imports: [...tokenStandard, ...tokenStandardV2],
  modules: {
    'Tidewater.Deposits': {
      DepositMintResult: record({ depositCid: 'ContractId Deposit' }),
      DepositSetAside: reservationFields,
      DepositRules: template(
        { admin: 'Party' },
        {
          implements: [
            v1('TransferInstruction', 'TransferFactory'),
            v1('AllocationInstruction', 'AllocationFactory'),
            v2('TransferEvents', 'EventLog'),
            v2('TransferInstruction', 'TransferFactory'),
            v2('AllocationInstruction', 'AllocationFactory'),
            v2('Allocation', 'SettlementFactory'),
          ],
          choices: {
            DepositRules_Mint: nonconsuming(
              { account: 'Account', currency: 'Text', amount: 'Decimal', reason: 'Text' },
              'DepositMintResult',
            ),
          },
        },
      ),
      Deposit: template(
        {
          account: 'Account',
          instrumentId: v2('Holding', 'InstrumentId'),
          amount: 'Decimal',
          lock: `Optional ${v2('Holding', 'Lock')}`,
          meta: 'Metadata',
        },
        {
          implements: [v1('Holding', 'Holding'), v2('Holding', 'Holding')],
          choices: { Deposit_PayOut: consuming({ rules: 'ContractId DepositRules', reason: 'Text' }, '()') },
        },
      ),
      DepositTransfer: template(
        { bank: 'Party', transfer: v2('TransferInstruction', 'Transfer') },
        {
          implements: [
            v1('TransferInstruction', 'TransferInstruction'),
            v2('TransferInstruction', 'TransferInstruction'),
          ],
        },
      ),
      DepositAllocation: template({ setAside: 'DepositSetAside' }, { implements: [v2('Allocation', 'Allocation')] }),
      DepositLegAllocation: template(
        { setAside: 'DepositSetAside' },
        { implements: [v1('Allocation', 'Allocation'), v2('Allocation', 'Allocation')] },
      ),
    },
  },
});
