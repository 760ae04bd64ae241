/**
 * Hosting of parties. After a party has left the participant, neither creates nor ends of its contracts are visible
 * there. If no topology event names a party, it is hosted everywhere.
 */
import { asObject, textAt } from '../wire/json.ts';
import type { TopologyTransaction } from '../wire/wire.ts';

interface Change {
  readonly offset: number;
  readonly hosted: boolean;
}

/** Changes in ascending order, by participant, synchronizer and party; the form of a snapshot. */
export type SavedHosting = Map<string, Change[]>;

export class Hosting {
  #changes: SavedHosting = new Map();
  #anybodyLeft = false;

  save(): SavedHosting {
    return this.#changes;
  }

  load(saved: SavedHosting): void {
    this.#changes = saved;
    this.#anybodyLeft = [...saved.values()].some((changes) => changes.some(({ hosted }) => !hosted));
  }

  /** Removes data that no query at this offset or later needs. */
  prune(offset: number): void {
    for (const [key, changes] of this.#changes) {
      const first = changes.findLastIndex((change) => change.offset <= offset);
      if (first > 0) this.#changes.set(key, changes.slice(first));
    }
  }

  apply({ events, synchronizerId }: TopologyTransaction, offset: number): void {
    for (const { event } of events) {
      for (const [variant, body] of Object.entries(event)) {
        const authorization = asObject(asObject(body)?.['value']);
        const isHosted = variant !== 'ParticipantAuthorizationRevoked';
        if (!isHosted) this.#anybodyLeft = true;
        const key = `${textAt(authorization, 'participantId')} ${synchronizerId} ${textAt(authorization, 'partyId')}`;
        const changes = this.#changes.get(key);
        if (changes === undefined) this.#changes.set(key, [{ offset, hosted: isHosted }]);
        else changes.push({ offset, hosted: isHosted });
      }
    }
  }

  /** The given parties that a participant hosts on a synchronizer right after the offset. */
  of(
    participantId: string,
    parties: readonly string[],
    { synchronizerId, offset }: { readonly synchronizerId: string; readonly offset: number },
  ): readonly string[] {
    if (!this.#anybodyLeft) return parties;
    const hosts = (party: string): boolean => {
      const changes = this.#changes.get(`${participantId} ${synchronizerId} ${party}`);
      return changes?.findLast((change) => change.offset <= offset)?.hosted !== false;
    };
    return parties.every(hosts) ? parties : parties.filter(hosts);
  }
}
