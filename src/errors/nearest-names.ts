/** Suggests known names for mistyped names in error messages. */

/** Levenshtein distance of two texts. */
export function editDistance(leftName: string, rightName: string): number {
  let row = Array.from({ length: rightName.length + 1 }, (_, column) => column);
  for (const [line, character] of Array.from(leftName).entries()) {
    const next = [line + 1];
    for (let column = 1; column <= rightName.length; column += 1) {
      const replaceCost = (row[column - 1] ?? 0) + (character === rightName[column - 1] ? 0 : 1);
      next.push(Math.min(replaceCost, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[rightName.length] ?? leftName.length;
}

/**
 * The known names nearest to a name, at most `limit`, nearest first, ignoring case. Names that differ in more than a
 * third of the letters are excluded.
 */
export function nearestNames(name: string, candidates: Iterable<string>, limit = 3): readonly string[] {
  const lowerCaseName = name.toLowerCase();
  return [...new Set(candidates)]
    .map((candidate) => ({ candidate, distance: editDistance(lowerCaseName, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(name.length, candidate.length) / 3)
    .sort((left, other) => left.distance - other.distance || (left.candidate < other.candidate ? -1 : 1))
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** `; did you mean X?` if a known name is close enough to be the intended word, otherwise an empty string. */
export function suggestionText(name: string, candidates: Iterable<string>): string {
  let bestMatch: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    // Of two names with the same distance, the one with the same beginning is preferred: "prun" means prune rather than
    // run.
    const distance = editDistance(name, candidate) + (candidate.startsWith(name.slice(0, 3)) ? 0 : 0.5);
    if (bestMatch === undefined || distance < bestMatch.distance) bestMatch = { name: candidate, distance };
  }
  return bestMatch === undefined || bestMatch.distance > name.length / 2 ? '' : `; did you mean ${bestMatch.name}?`;
}

/** The known name that differs in at most two letters; undefined if there is none. */
export function nearestWithinTwo(name: string, candidates: Iterable<string>): string | undefined {
  return [...candidates].find((candidate) => editDistance(name, candidate) <= 2);
}
