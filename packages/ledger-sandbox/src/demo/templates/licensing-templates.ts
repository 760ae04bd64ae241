/** The license application: an install, its licenses, and renewals that are paid by an allocation. */
import { asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { ChoiceContext, Model, Template } from '../../contracts/model.ts';
import { withoutTrailingNones } from '../../contracts/release-fields.ts';
import { formatTimestamp } from '../../wire/values.ts';
import { emptyMetadata } from './metadata.ts';
import { interfaces, names } from './names.ts';
import { licensingUpgrade } from '../packages/applications.ts';

const provider = (payload: JsonObject): string[] => [asText(payload['provider'])];
const user = (payload: JsonObject): string[] => [asText(payload['user'])];
const partiesOf = (payload: JsonObject): string[] => [...new Set([...provider(payload), ...user(payload)])];
const actor = (_: JsonObject, argument: JsonObject): string[] => [asText(argument['actor'])];
const emptyView = (): Json => ({});

const installRequest: Template = {
  name: names.installRequest,
  signatories: user,
  observers: provider,
  interfaces: [],
  choices: {
    AppInstallRequest_Accept: {
      consuming: true,
      controllers: provider,
      run: ({ contract, argument, create }) => {
        const { dso, provider: appProvider, user: userParty } = contract.createArgument;
        const meta = argument['installMeta'] ?? emptyMetadata;
        return create(names.install, {
          dso: dso ?? '',
          provider: appProvider ?? '',
          user: userParty ?? '',
          meta,
          numLicensesCreated: '0',
        });
      },
    },
    AppInstallRequest_Reject: { consuming: true, controllers: provider, run: emptyView },
    AppInstallRequest_Cancel: { consuming: true, controllers: user, run: emptyView },
  },
};

/** Duration of a license before its first renewal, microseconds. */
const firstTerm = 30 * 86_400_000_000;
/** Seats of a new license in the version that has seats. */
const seatsOfNew = '25';

function createLicense({ contract, argument, create, time }: ChoiceContext, seats: boolean): Json {
  const payload = contract.createArgument;
  const { dso, provider: appProvider, user: userParty } = payload;
  const num = String(Number(asText(payload['numLicensesCreated'])) + 1);
  const installId = create(names.install, { ...payload, numLicensesCreated: num });
  const licenseId = create(names.license, {
    provider: appProvider ?? '',
    user: userParty ?? '',
    dso: dso ?? '',
    expiresAt: formatTimestamp(microsOf(time) + firstTerm),
    licenseNum: num,
    params: argument['params'] ?? { meta: emptyMetadata },
    ...(seats ? { seats: seatsOfNew } : {}),
  });
  return { installId, licenseId };
}

function installTemplate(seats: boolean): Template {
  return {
    name: names.install,
    signatories: partiesOf,
    observers: () => [],
    interfaces: [],
    choices: {
      AppInstall_CreateLicense: {
        consuming: true,
        controllers: provider,
        run: (context) => createLicense(context, seats),
      },
      AppInstall_Cancel: { consuming: true, controllers: actor, run: emptyView },
    },
  };
}

const renewalFields = [
  'licenseFeeAmount',
  'licenseFeeInstrumentId',
  'licenseExtensionDuration',
  'requestedAt',
  'prepareUntil',
  'settleBefore',
  'requestId',
  'description',
] as const;

function requestRenewal({ contract, argument, create }: ChoiceContext): Json {
  const { provider: appProvider, user: userParty, dso, licenseNum } = contract.createArgument;
  const renewalValues = Object.fromEntries(renewalFields.map((key) => [key, argument[key] ?? '']));
  return create(names.renewalRequest, {
    provider: appProvider ?? '',
    user: userParty ?? '',
    dso: dso ?? '',
    licenseNum: licenseNum ?? '',
    ...renewalValues,
  });
}

/** Microseconds of an API timestamp, to the millisecond. */
function microsOf(time: Json | undefined): number {
  return Date.parse(asText(time)) * 1000;
}

function completeRenewal({ contract, argument, create, exercise, fetch }: ChoiceContext): Json {
  const request = contract.createArgument;
  const [appProvider, userParty] = partiesOf(request);
  const actors = [...new Set([appProvider ?? '', userParty ?? ''])];
  const extraArgs = asObject(argument['extraArgs']) ?? {};
  exercise(asText(argument['allocationCid']), 'Allocation_ExecuteTransfer', { extraArgs }, actors);
  const licenseCid = asText(argument['licenseCid']);
  const license = fetch(licenseCid);
  exercise(licenseCid, 'Archive', {}, license.signatories);
  const extension = Number(textAt(request, 'licenseExtensionDuration', 'microseconds'));
  const from = Math.max(microsOf(license.createArgument['expiresAt']), microsOf(request['requestedAt']));
  return create(names.license, { ...license.createArgument, expiresAt: formatTimestamp(from + extension) });
}

/** Metadata of the allocation that pays a renewal. */
export function renewalSettlement(request: JsonObject): JsonObject {
  return {
    executor: request['provider'] ?? null,
    settlementRef: { id: request['requestId'] ?? '' },
    requestedAt: request['requestedAt'] ?? null,
    allocateBefore: request['prepareUntil'] ?? null,
    settleBefore: request['settleBefore'] ?? null,
    meta: emptyMetadata,
  };
}

/** The only leg of a renewal: the fee, from the user to the provider. */
export function renewalLeg(request: JsonObject): JsonObject {
  return {
    sender: request['user'] ?? null,
    receiver: request['provider'] ?? null,
    amount: request['licenseFeeAmount'] ?? null,
    instrumentId: request['licenseFeeInstrumentId'] ?? null,
    meta: emptyMetadata,
  };
}

const renewalRequest: Template = {
  name: names.renewalRequest,
  signatories: partiesOf,
  observers: () => [],
  interfaces: [
    {
      name: interfaces.allocationRequest,
      view: (payload) => ({
        settlement: renewalSettlement(payload),
        transferLegs: { licenseFeePayment: renewalLeg(payload) },
        meta: emptyMetadata,
      }),
    },
  ],
  choices: {
    LicenseRenewalRequest_CompleteRenewal: { consuming: true, controllers: provider, run: completeRenewal },
    LicenseRenewalRequest_Cancel: { consuming: true, controllers: actor, run: emptyView },
    AllocationRequest_Reject: {
      consuming: true,
      interface: interfaces.allocationRequest,
      controllers: actor,
      run: () => ({ meta: emptyMetadata }),
    },
    AllocationRequest_Withdraw: {
      consuming: true,
      interface: interfaces.allocationRequest,
      controllers: provider,
      run: () => ({ meta: emptyMetadata }),
    },
  },
};

const license: Template = {
  name: names.license,
  signatories: partiesOf,
  observers: () => [],
  interfaces: [],
  optionals: ['seats'],
  normalize: (payload) => withoutTrailingNones(payload, ['seats']),
  choices: {
    License_Renew: { consuming: false, controllers: provider, run: requestRenewal },
    License_Expire: { consuming: true, controllers: actor, run: emptyView },
  },
};

/**
 * The templates of the license application.
 * @param seats whether licenses have a number of seats, as in the newer version
 */
export function licensingTemplates(seats = false): Template[] {
  return [installRequest, installTemplate(seats), license, renewalRequest];
}

/** Upgrades the licensing package: vets it, and uses it for new licenses. */
export function upgradeLicensing(model: Model): void {
  model.vet(licensingUpgrade);
  for (const template of licensingTemplates(true)) model.register(template);
}

export function isLicensingUpgraded(model: Model): boolean {
  return model.vettedVersion(licensingUpgrade.name) === licensingUpgrade.version;
}
