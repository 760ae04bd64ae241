/**
 * Which parties have left the participant. It sees nothing of their contracts from then on: neither what is created nor
 * what ends. A party that no event of topology names is hosted everywhere.
 */
import { asObject, textAt } from '../wire/json.ts';
import type { TopologyTransaction } from '../wire/wire.ts';

interface Change {
  readonly offset: number;
  readonly hosted: boolean;
}

/** By participant, synchronizer and party, ascending; as a snapshot holds it. */
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

  /** Forgets what no offset from `offset` on needs. */
  prune(offset: number): void {
    for (const [key, changes] of this.#changes) {
      const first = changes.findLastIndex((change) => change.offset <= offset);
      if (first > 0) this.#changes.set(key, changes.slice(first));
    }
  }

  apply({ events, synchronizerId }: TopologyTransaction, offset: number): void {
    for (const { event } of events) {
      for (const [variant, body] of Object.entries(event)) {
        const told = asObject(asObject(body)?.['value']);
        const hosted = variant !== 'ParticipantAuthorizationRevoked';
        if (!hosted) this.#anybodyLeft = true;
        const key = `${textAt(told, 'participantId')} ${synchronizerId} ${textAt(told, 'partyId')}`;
        const changes = this.#changes.get(key);
        if (changes === undefined) this.#changes.set(key, [{ offset, hosted }]);
        else changes.push({ offset, hosted });
      }
    }
  }

  /** Those of the parties that a participant hosts on a synchronizer right after the offset. */
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
