/**
 * Applications that use the tokens: over-the-counter trades, licenses in two versions, and the Iou of the tutorials.
 */
import { consuming, nonconsuming, record, template } from '../../daml-lf/declaration.ts';
import type { Definition, Fields, ModuleDeclaration, WrittenPackage } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';
import { tokenStandard } from './token-standard.ts';

export const tradingApp = writePackage({
  name: 'splice-token-test-trading-app',
  version: '1.0.0',
  imports: tokenStandard,
  modules: {
    'Splice.Testing.Apps.TradingApp': {
      OTCTradeProposal: template(
        {
          venue: 'Party',
          tradeCid: 'Optional (ContractId OTCTradeProposal)',
          transferLegs: 'TextMap TransferLeg',
          approvers: '[Party]',
        },
        {
          choices: {
            OTCTradeProposal_Accept: consuming({ approver: 'Party' }, 'ContractId OTCTradeProposal'),
            OTCTradeProposal_Reject: consuming({ trader: 'Party' }, '()'),
            OTCTradeProposal_InitiateSettlement: consuming(
              { prepareUntil: 'Time', settleBefore: 'Time' },
              'ContractId OTCTrade',
            ),
          },
        },
      ),
      OTCTrade: template(
        {
          venue: 'Party',
          transferLegs: 'TextMap TransferLeg',
          tradeCid: 'ContractId OTCTradeProposal',
          createdAt: 'Time',
          prepareUntil: 'Time',
          settleBefore: 'Time',
        },
        {
          implements: ['AllocationRequest'],
          choices: {
            OTCTrade_Settle: consuming(
              { allocationsWithContext: 'TextMap (ContractId Allocation, ExtraArgs)' },
              'TextMap Allocation_ExecuteTransferResult',
            ),
            OTCTrade_Cancel: consuming(
              { allocationsWithContext: 'TextMap (ContractId Allocation, ExtraArgs)' },
              'TextMap (Optional Allocation_CancelResult)',
            ),
          },
        },
      ),
    },
  },
});

/** @param addedFields fields at the end of the record */
function license(addedFields: Fields): Definition {
  const fields = {
    provider: 'Party',
    user: 'Party',
    dso: 'Party',
    expiresAt: 'Time',
    licenseNum: 'Int',
    params: 'LicenseParams',
  };
  const renew = nonconsuming(
    {
      requestId: 'Text',
      licenseFeeAmount: 'Decimal',
      licenseFeeInstrumentId: 'InstrumentId',
      licenseExtensionDuration: 'RelTime',
      requestedAt: 'Time',
      prepareUntil: 'Time',
      settleBefore: 'Time',
      description: 'Text',
    },
    'ContractId LicenseRenewalRequest',
  );
  const expire = consuming({ actor: 'Party', meta: 'Metadata' }, '()');
  return template({ ...fields, ...addedFields }, { choices: { License_Renew: renew, License_Expire: expire } });
}

const renewalRequest = template(
  {
    provider: 'Party',
    user: 'Party',
    dso: 'Party',
    licenseNum: 'Int',
    licenseFeeAmount: 'Decimal',
    licenseFeeInstrumentId: 'InstrumentId',
    licenseExtensionDuration: 'RelTime',
    requestedAt: 'Time',
    prepareUntil: 'Time',
    settleBefore: 'Time',
    requestId: 'Text',
    description: 'Text',
  },
  {
    implements: ['AllocationRequest'],
    choices: {
      LicenseRenewalRequest_CompleteRenewal: consuming(
        { allocationCid: 'ContractId Allocation', licenseCid: 'ContractId License', extraArgs: 'ExtraArgs' },
        'ContractId License',
      ),
      LicenseRenewalRequest_Cancel: consuming({ actor: 'Party', meta: 'Metadata' }, '()'),
    },
  },
);

const installModule: ModuleDeclaration = {
  AppInstall_CreateLicense_Result: record({ installId: 'ContractId AppInstall', licenseId: 'ContractId License' }),
  AppInstallRequest: template(
    { dso: 'Party', provider: 'Party', user: 'Party', meta: 'Metadata' },
    {
      choices: {
        AppInstallRequest_Accept: consuming({ installMeta: 'Metadata', meta: 'Metadata' }, 'ContractId AppInstall'),
        AppInstallRequest_Reject: consuming({ meta: 'Metadata' }, '()'),
        AppInstallRequest_Cancel: consuming({ meta: 'Metadata' }, '()'),
      },
    },
  ),
  AppInstall: template(
    { dso: 'Party', provider: 'Party', user: 'Party', meta: 'Metadata', numLicensesCreated: 'Int' },
    {
      choices: {
        AppInstall_CreateLicense: consuming({ params: 'LicenseParams' }, 'AppInstall_CreateLicense_Result'),
        AppInstall_Cancel: consuming({ actor: 'Party', meta: 'Metadata' }, '()'),
      },
    },
  ),
};

/** @param addedFields Optional fields that this version adds at the end of a license */
function licensing(version: string, addedFields: Fields): WrittenPackage {
  return writePackage({
    name: 'quickstart-licensing',
    version,
    imports: tokenStandard,
    modules: {
      'Licensing.License': {
        LicenseParams: record({ meta: 'Metadata' }),
        License: license(addedFields),
        LicenseRenewalRequest: renewalRequest,
      },
      'Licensing.AppInstall': installModule,
    },
  });
}

export const initialLicensing = licensing('0.0.4', {});

/** The version that the demo upgrades to, in which a license may have a number of seats. */
export const licensingUpgrade = licensing('0.0.5', { seats: 'Optional Int' });

export const iou = writePackage({
  name: 'model-tests',
  version: '1.0.0',
  imports: tokenStandard,
  modules: {
    Iou: {
      Iou: template(
        { issuer: 'Party', owner: 'Party', currency: 'Text', amount: 'Decimal', observers: '[Party]' },
        { choices: { Iou_Transfer: consuming({ newOwner: 'Party' }, 'ContractId IouTransfer') } },
      ),
      IouTransfer: template(
        { iou: 'Iou', newOwner: 'Party' },
        { choices: { IouTransfer_Accept: consuming({}, 'ContractId Iou') } },
      ),
    },
  },
});
