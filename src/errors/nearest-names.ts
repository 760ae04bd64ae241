/** Suggests known names for mistyped names in error messages. */

/** Levenshtein distance of two texts. */
export function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (const [line, character] of Array.from(left).entries()) {
    const next = [line + 1];
    for (let column = 1; column <= right.length; column += 1) {
      const changed = (row[column - 1] ?? 0) + (character === right[column - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? left.length;
}

/**
 * The known names nearest to a name, at most `most`, nearest first, ignoring case. Names that differ in more than a
 * third of the letters are excluded.
 */
export function nearestNames(name: string, known: Iterable<string>, most = 3): readonly string[] {
  const lowerCaseName = name.toLowerCase();
  return [...new Set(known)]
    .map((candidate) => ({ candidate, distance: editDistance(lowerCaseName, candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(name.length, candidate.length) / 3)
    .sort((one, other) => one.distance - other.distance || (one.candidate < other.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** `; did you mean X?` if a known name is close enough to be the intended word, otherwise an empty string. */
export function didYouMean(name: string, known: Iterable<string>): string {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    // Of two names with the same distance, the one with the same beginning is preferred: "prun" means prune rather than
    // run.
    const distance = editDistance(name, candidate) + (candidate.startsWith(name.slice(0, 3)) ? 0 : 0.5);
    if (best === undefined || distance < best.distance) best = { name: candidate, distance };
  }
  return best === undefined || best.distance > name.length / 2 ? '' : `; did you mean ${best.name}?`;
}

/** The known name that differs in at most two letters; undefined if there is none. */
export function nearly(name: string, known: Iterable<string>): string | undefined {
  return [...known].find((candidate) => editDistance(name, candidate) <= 2);
}
