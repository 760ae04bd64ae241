/**
 * The parties of a participant: its own party, parties named by its contracts, and parties allocated through the
 * interface. An allocation is a topology event on one synchronizer of the ledger. Only this module stores the metadata
 * of parties.
 */
import { failure, invalidArgument, permissionDenied } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recordAtOnce } from '../ledger/record-at-once.ts';
import { Random } from '../wire/random.ts';
import type { SavedRandom } from '../wire/random.ts';
import { authorize } from '../ledger/reassignments.ts';

/** A party that becomes hosted on one synchronizer. */
export interface Hosting {
  readonly party: string;
  readonly synchronizerId: string;
  readonly permission: Permission;
  readonly annotations: Annotations;
  readonly identityProviderId: string;
  /** Base64 of the raw Ed25519 key of an external party, which signs its submissions itself. */
  readonly signingKey?: string;
}

export type Permission =
  'PARTICIPANT_PERMISSION_SUBMISSION' | 'PARTICIPANT_PERMISSION_CONFIRMATION' | 'PARTICIPANT_PERMISSION_OBSERVATION';

export type Annotations = Readonly<Record<string, string>>;

/** A party with its metadata. */
export interface PartyRecord {
  readonly party: string;
  readonly annotations: Annotations;
  /** Counts the changes of the metadata; empty until the participant stores metadata of the party. */
  readonly resourceVersion: string;
  readonly identityProviderId: string;
}

/** A change of a party. */
export interface PartyChange {
  /** The expected version of the party; empty accepts any. */
  readonly resourceVersion: string;
  /** Merged into the existing annotations; an empty value removes its key. */
  readonly annotations: Annotations;
}

function partyAlreadyHosted(party: string): LedgerFailure {
  return invalidArgument(`Party already exists: party ${party} is already allocated on this node`);
}

function partyNotFound(party: string): LedgerFailure {
  const cause = `Party: '${party}' was not found when updating a party record`;
  const resources = [['ErrorResource(PARTY)', party]] as const;
  return failure({ code: 'PARTY_NOT_FOUND', category: 11, cause, resources });
}

function concurrentUpdate(party: string): LedgerFailure {
  const cause = `Update operation for party '${party}' failed due to a concurrent update to the same party`;
  const resources = [['ErrorResource(PARTY)', party]] as const;
  return failure({ code: 'CONCURRENT_PARTY_DETAILS_UPDATE_DETECTED', category: 2, cause, resources });
}

function merged(currentAnnotations: Annotations, changes: Annotations): Annotations {
  return Object.fromEntries(Object.entries({ ...currentAnnotations, ...changes }).filter(([, value]) => value !== ''));
}

/** Parties as stored in a snapshot. */
export interface SavedParties {
  readonly random: SavedRandom;
  readonly records: Map<string, PartyRecord>;
  readonly hosted: Map<string, Map<string, Permission>>;
  readonly signingKeys: Map<string, string>;
}

export class Parties {
  /** Called with a hosting and its time (microseconds since 1970), before it happens. */
  journal: ((hosting: Hosting & { readonly at: number }) => void) | undefined;
  readonly #ledger: Ledger;
  /**
   * Random numbers for names of parties without a hint. They are separate from those of the ledger, which a journal
   * replays.
   */
  readonly #random: Random;
  #records = new Map<string, PartyRecord>();
  #hosted = new Map<string, Map<string, Permission>>();
  #signingKeys = new Map<string, string>();

  constructor(ledger: Ledger, seed: number) {
    this.#ledger = ledger;
    this.#random = new Random(seed);
  }

  save(): SavedParties {
    const [records, hosted, signingKeys] = [this.#records, this.#hosted, this.#signingKeys];
    return { random: this.#random.save(), records, hosted, signingKeys };
  }

  load({ random, records, hosted, signingKeys }: SavedParties): void {
    this.#random.load(random);
    this.#records = records;
    this.#hosted = hosted;
    this.#signingKeys = signingKeys;
  }

  /** All parties in ascending order. */
  all(): readonly string[] {
    return [...new Set([this.#ledger.participantId, ...this.#hosted.keys(), ...this.#ledger.localParties()])].sort();
  }

  /** The record of a party; undefined if the participant does not know the party. */
  find(party: string): PartyRecord | undefined {
    const record = this.#records.get(party);
    if (record !== undefined) return record;
    const isKnownParty = party === this.#ledger.participantId || this.#ledger.isLocalParty(party);
    return isKnownParty ? { party, annotations: {}, resourceVersion: '', identityProviderId: '' } : undefined;
  }

  /** Whether the participant stores metadata of the party for this identity provider. */
  isOf(identityProviderId: string, party: string): boolean {
    return this.#records.get(party)?.identityProviderId === identityProviderId;
  }

  /**
   * The permission of a hosted party, by synchronizer id. Parties that are known only from contracts may submit
   * everywhere. Undefined for a party that is not hosted here.
   */
  permissions(party: string): ReadonlyMap<string, Permission> | undefined {
    const hostingByParty = this.#hosted.get(party) ?? (this.find(party) === undefined ? undefined : this.#everywhere());
    if (hostingByParty === undefined) return undefined;
    const offset = this.#ledger.ledgerEnd();
    const hostedParties = [...hostingByParty].filter(
      ([id]) => this.#ledger.hosted([party], { synchronizerId: id, offset }).length > 0,
    );
    return hostedParties.length === hostingByParty.size ? hostingByParty : new Map(hostedParties);
  }

  #everywhere(): ReadonlyMap<string, Permission> {
    return new Map(this.#ledger.synchronizers.map(({ id }) => [id, 'PARTICIPANT_PERMISSION_SUBMISSION']));
  }

  /** Base64 of the raw Ed25519 key of an external party; undefined for a party that the participant signs for. */
  signingKey(party: string): string | undefined {
    return this.#signingKeys.get(party);
  }

  /**
   * The id of a party in this participant's namespace.
   * @param hint if empty, one is generated
   */
  idFor(hint: string): string {
    const namespace = this.#ledger.participantId.split('::')[1] ?? '';
    if (hint !== '') return `${hint}::${namespace}`;
    let id: string;
    do {
      const hex = this.#random.hex(16);
      const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
      id = `party-${uuid}::${namespace}`;
    } while (this.#hosted.has(id));
    return id;
  }

  /**
   * Refuses to host a party for callers that may not have it: a party of another identity provider, or, unless the
   * caller administers that provider, a known party. Throws the redacted 403 or INVALID_ARGUMENT.
   */
  requireFree(party: string, identityProviderId: string, administers: boolean): void {
    const partyRecord = this.find(party);
    if (partyRecord === undefined) return;
    if (partyRecord.resourceVersion !== '' && partyRecord.identityProviderId !== identityProviderId)
      throw permissionDenied();
    if (!administers) throw partyAlreadyHosted(party);
  }

  /**
   * Hosts a party from now on: writes it to the journal, and appends a topology event to the ledger. Throws
   * INVALID_ARGUMENT if the party is hosted on that synchronizer already.
   * @param at microseconds since 1970; passed by a replay
   */
  host(hosting: Hosting, at?: number): PartyRecord {
    const { party, synchronizerId, permission, annotations, identityProviderId } = hosting;
    if (this.permissions(party)?.has(synchronizerId) === true) throw partyAlreadyHosted(party);
    const time = at ?? this.#ledger.clock();
    if (at === undefined) this.journal?.({ ...hosting, at: time });
    const hostingByParty = this.#hosted.get(party) ?? new Map<string, Permission>();
    this.#hosted.set(party, hostingByParty.set(synchronizerId, permission));
    const record = { party, annotations, resourceVersion: '0', identityProviderId };
    this.#records.set(party, record);
    if (hosting.signingKey !== undefined) this.#signingKeys.set(party, hosting.signingKey);
    this.#ledger.addLocalParty(party);
    recordAtOnce(this.#ledger, () => authorize(this.#ledger, party, true, time, { synchronizerId, permission }));
    return record;
  }

  /**
   * Changes the metadata of a party, on behalf of an identity provider. Throws PARTY_NOT_FOUND,
   * CONCURRENT_PARTY_DETAILS_UPDATE_DETECTED, or the redacted 403 for a party of another provider.
   */
  update(party: string, { resourceVersion, annotations }: PartyChange, identityProviderId: string): PartyRecord {
    const record = this.find(party);
    if (record === undefined) throw partyNotFound(party);
    if (record.resourceVersion !== '' && record.identityProviderId !== identityProviderId) throw permissionDenied();
    if (resourceVersion !== '' && resourceVersion !== record.resourceVersion) throw concurrentUpdate(party);
    const version = record.resourceVersion === '' ? 0 : Number(record.resourceVersion) + 1;
    const changedRecord = {
      ...record,
      annotations: merged(record.annotations, annotations),
      resourceVersion: String(version),
    };
    this.#records.set(party, changedRecord);
    return changedRecord;
  }
}
