/** The license application: users install it, get a license, and renew it with a payment that the provider executes. */
import { asText, textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { drawDelayMicros } from './chance.ts';
import type { ErrandOf, Payment } from './errand.ts';
import type { MarketState } from './market-state.ts';
import { amulet } from '../templates/instruments.ts';
import { mint } from './issuance.ts';
import { renewalLeg, renewalSettlement } from '../templates/licensing-templates.ts';
import { emptyMetadata } from '../templates/metadata.ts';
import { names } from '../templates/names.ts';
import type { GapSchedule } from './tempo.ts';

const second = 1_000_000;
const day = 86_400 * second;
/** Number of users that have the application in the end. */
const installs = 40;
const renewalWithin = 600 * second;
/** Share of renewals that are never paid. */
const unpaidShare = 0.1;
/** The fee of a renewal, in units of 10^-10 Amulet. */
const fee = 25n * 10n ** 10n;

/** State of the application as stored in a snapshot. */
export interface SavedLicences {
  readonly idle: string[];
  readonly installs: string[];
  readonly asked: number;
  readonly renewals: number;
}

/** The application with its customers. */
export class Licenses {
  readonly #state: MarketState;
  readonly #tempo: GapSchedule;
  /** Licenses without a renewal in progress, in the order of their last renewal. */
  #idle: string[] = [];
  /** The newest contract of each install. */
  #installs: string[] = [];
  #asked = 0;
  #renewals = 0;

  constructor(state: MarketState, gapsAt: GapSchedule) {
    this.#state = state;
    this.#tempo = gapsAt;
  }

  save(): SavedLicences {
    return { idle: this.#idle, installs: this.#installs, asked: this.#asked, renewals: this.#renewals };
  }

  load({ idle, installs, asked, renewals }: SavedLicences): void {
    this.#idle = idle;
    this.#installs = installs;
    this.#asked = asked;
    this.#renewals = renewals;
  }

  /** The next user requests the application. Does nothing if all users have it. */
  install(at: number): boolean {
    const { people, agenda, random } = this.#state;
    if (this.#asked >= installs) return false;
    const user = people.users[(this.#asked * 7) % people.users.length] ?? '';
    this.#asked += 1;
    agenda.add(at + this.#tempo(at).installGap, { what: 'install' });
    const meta = { values: { channel: random.chance(0.5) ? 'web' : 'partner' } };
    const request = { dso: people.dso, provider: people.licensor, user, meta };
    const transaction = this.#state.create(user, names.installRequest, request, { at, workflowId: 'licensing' });
    const requestCid = this.#state.made(transaction, names.installRequest);
    agenda.add(at + drawDelayMicros(random, 30), { what: 'accept-install', request: requestCid });
    return true;
  }

  /** An additional license for one of the installs, created with the newest version of the package. */
  extraLicence(at: number): boolean {
    const install = this.#installs.find((candidateInstall) => this.#state.payload(candidateInstall) !== undefined);
    return install === undefined ? false : this.license(install, at);
  }

  /** Requests renewals, one license after the other. */
  renewAll(at: number): boolean {
    this.#state.agenda.add(at + this.#tempo(at).renewalGap, { what: 'renew-all' });
    return this.renew(at);
  }

  /** Requests the renewal of the license whose last renewal is the oldest. */
  renew(at: number): boolean {
    const { people, agenda, random } = this.#state;
    const license = this.#idle.shift();
    if (license === undefined || this.#state.payload(license) === undefined) return false;
    this.#renewals += 1;
    const argument = {
      requestId: `renewal-${this.#renewals}`,
      licenseFeeAmount: formatNumeric(fee),
      licenseFeeInstrumentId: { admin: people.dso, id: amulet.id },
      licenseExtensionDuration: { microseconds: String(30 * day) },
      requestedAt: formatTimestamp(at),
      prepareUntil: formatTimestamp(at + renewalWithin / 2),
      settleBefore: formatTimestamp(at + renewalWithin),
      description: 'renewal for 30 days',
    };
    const options = { at, workflowId: 'licensing' };
    const transaction = this.#state.exercise(people.licensor, license, 'License_Renew', argument, options);
    const request = this.#state.made(transaction, names.renewalRequest);
    if (random.chance(unpaidShare))
      agenda.add(at + renewalWithin + second, { what: 'cancel-renewal', request, license });
    else agenda.add(at + drawDelayMicros(random, 20), { what: 'pay-renewal', request, license });
    return true;
  }

  /** The provider accepts the user who requested the application. */
  accept(request: string, at: number): boolean {
    const { people, agenda, random } = this.#state;
    if (this.#state.payload(request) === undefined) return false;
    const argument = { installMeta: emptyMetadata, meta: emptyMetadata };
    const options = { at, workflowId: 'licensing' };
    const transaction = this.#state.exercise(people.licensor, request, 'AppInstallRequest_Accept', argument, options);
    const install = this.#state.made(transaction, names.install);
    agenda.add(at + drawDelayMicros(random, 15), { what: 'license', install });
    return true;
  }

  /** The provider creates a license for an install. */
  license(install: string, at: number): boolean {
    if (this.#state.payload(install) === undefined) return false;
    const params = { params: { meta: { values: { tier: this.#state.random.chance(0.3) ? 'gold' : 'silver' } } } };
    const options = { at, workflowId: 'licensing' };
    const licensor = this.#state.people.licensor;
    const transaction = this.#state.exercise(licensor, install, 'AppInstall_CreateLicense', params, options);
    this.#installs.push(this.#state.made(transaction, names.install));
    this.#idle.push(this.#state.made(transaction, names.license));
    return true;
  }

  /** The user allocates the fee of a renewal; a user who has too little receives Amulet first. */
  pay({ request, license }: ErrandOf<'pay-renewal'>, at: number): boolean {
    const { people, agenda, random, wallets } = this.#state;
    const payload = this.#state.payload(request);
    if (payload === undefined) return false;
    const user = asText(payload['user']);
    const inputs = wallets.covering(user, amulet, fee);
    if (inputs === undefined) {
      agenda.add(at + second, { what: 'pay-renewal', request, license });
      return mint(this.#state, amulet, user, at, 10n * fee);
    }
    const argument = {
      expectedAdmin: people.dso,
      allocation: {
        settlement: renewalSettlement(payload),
        transferLegId: 'licenseFeePayment',
        transferLeg: renewalLeg(payload),
      },
      requestedAt: formatTimestamp(at),
      inputHoldingCids: [...inputs],
      extraArgs: this.#state.extraArgs(amulet),
    };
    const factory = this.#state.single(amulet.factory);
    const options = { at, workflowId: 'licensing' };
    const transaction = this.#state.exercise(user, factory, 'AllocationFactory_Allocate', argument, options);
    const allocation = this.#state.made(transaction, amulet.allocation);
    agenda.add(at + drawDelayMicros(random, 45), { what: 'complete-renewal', request, license, allocation });
    return true;
  }

  /** The provider takes the fee and renews the license. */
  complete({ request, license: licenseCid, allocation: allocationCid }: Payment, at: number): boolean {
    if ([request, licenseCid, allocationCid].some((cid) => this.#state.payload(cid) === undefined)) return false;
    const argument = { allocationCid, licenseCid, extraArgs: this.#state.extraArgs(amulet) };
    const choice = 'LicenseRenewalRequest_CompleteRenewal';
    const licensor = this.#state.people.licensor;
    const transaction = this.#state.exercise(licensor, request, choice, argument, { at, workflowId: 'licensing' });
    this.#idle.push(this.#state.made(transaction, names.license));
    return true;
  }

  /** The provider cancels a renewal that was not paid. */
  cancel({ request, license }: ErrandOf<'cancel-renewal'>, at: number): boolean {
    const payload: JsonObject | undefined = this.#state.payload(request);
    this.#idle.push(license);
    if (payload === undefined) return false;
    const actor = textAt(payload, 'provider');
    const options = { at, workflowId: 'licensing' };
    this.#state.exercise(actor, request, 'LicenseRenewalRequest_Cancel', { actor, meta: emptyMetadata }, options);
    return true;
  }
}
