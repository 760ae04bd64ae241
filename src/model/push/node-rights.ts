/** Rights of a user of the participant to read data of parties. */

export interface NodeRights {
  /** Sorted, without duplicates. */
  readonly parties: readonly string[];
  /** Whether the user may read as any party, and so sees everything that is indexed. */
  readonly readsAll: boolean;
  /** The same text for the same rights. */
  readonly key: string;
}

export function nodeRights(parties: Iterable<string>, readsAll: boolean): NodeRights {
  const sortedParties = [...new Set(parties)].sort();
  return { parties: sortedParties, readsAll, key: JSON.stringify([readsAll, ...sortedParties]) };
}
