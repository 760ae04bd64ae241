/** Two registries of the demo that implement the token standard: a stable-coin and bonds. */
import { consuming, nonconsuming, record, template } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { tokenStandard } from './token-standard.ts';

export const stablecoin = writePackage({
  name: 'harbor-stablecoin',
  version: '1.0.0',
  imports: tokenStandard,
  modules: {
    'Harbor.StableCoin': {
      TokenReference: record({ system: 'Text', note: 'Optional Text', batch: 'Int' }),
      TokenDetails: record({ label: 'Text', reference: 'TokenReference' }),
      MintResult: record({ holdingCid: 'ContractId Token' }),
      Token: template(
        { registrar: 'Party', owner: 'Party', amount: 'Decimal', lock: 'Optional Lock', details: 'TokenDetails' },
        { implements: ['Holding'], choices: { Token_Burn: consuming({ reason: 'Optional Text' }, '()') } },
      ),
      TokenRules: template({ registrar: 'Party' }, { implements: ['TransferFactory', 'AllocationFactory'] }),
      TokenTransferInstruction: template(
        { admin: 'Party', transfer: 'Transfer' },
        { implements: ['TransferInstruction'] },
      ),
      TokenAllocation: template(
        { admin: 'Party', holdingCid: 'ContractId Token', allocation: 'AllocationSpecification' },
        { implements: ['Allocation'] },
      ),
      MintRequest: template(
        {
          admin: 'Party',
          owner: 'Party',
          amount: 'Decimal',
          reason: 'Optional Text',
          round: 'Int',
          memo: 'Optional Text',
        },
        { choices: { Mint: consuming({}, 'MintResult') } },
      ),
    },
  },
});

export const bonds = writePackage({
  name: 'meridian-bonds',
  version: '1.0.0',
  imports: tokenStandard,
  modules: {
    'Meridian.Bonds': {
      IssueResult: record({ holdingCid: 'ContractId BondHolding' }),
      BondHolding_PayCouponResult: record({ paid: 'Decimal' }),
      BondHolding: template(
        {
          registrar: 'Party',
          owner: 'Party',
          isin: 'Text',
          amount: 'Decimal',
          coupon: 'Numeric 4',
          maturesOn: 'Date',
          lock: 'Optional Lock',
        },
        {
          implements: ['Holding'],
          choices: {
            BondHolding_PayCoupon: nonconsuming({ period: 'Text', rate: 'Numeric 4' }, 'BondHolding_PayCouponResult'),
            BondHolding_Redeem: consuming({}, '()'),
          },
        },
      ),
      BondRules: template({ registrar: 'Party' }, { implements: ['TransferFactory', 'AllocationFactory'] }),
      BondTransferInstruction: template(
        { registrar: 'Party', transfer: 'Transfer' },
        { implements: ['TransferInstruction'] },
      ),
      BondAllocation: template(
        { registrar: 'Party', holdingCid: 'ContractId BondHolding', allocation: 'AllocationSpecification' },
        { implements: ['Allocation'] },
      ),
      IssueRequest: template(
        { registrar: 'Party', owner: 'Party', isin: 'Text', amount: 'Decimal', memo: 'Optional Text' },
        { choices: { Issue: consuming({}, 'IssueResult') } },
      ),
    },
  },
});
