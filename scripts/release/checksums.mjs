// Checksums of the files of a release.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const sumsFile = 'SHA256SUMS';

export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

/** All files of a folder, in the order of their names. */
export function artifactsIn(folder) {
  return readdirSync(folder)
    .toSorted()
    .map((name) => ({
      name,
      bytes: statSync(join(folder, name)).size,
      sha256: sha256(readFileSync(join(folder, name))),
    }));
}

/** Writes the file that `sha256sum --check` reads. */
export function writeChecksums(folder) {
  const lines = artifactsIn(folder).map((artifact) => `${artifact.sha256}  ${artifact.name}\n`);
  writeFileSync(join(folder, sumsFile), lines.join(''));
}

/** Files that are not equal in both folders. */
export function differencesOf(folder, other) {
  const [sums, otherSums] = [folder, other].map(
    (name) => new Map(artifactsIn(name).map((file) => [file.name, file.sha256])),
  );
  return [...new Set([...sums.keys(), ...otherSums.keys()])]
    .filter((name) => sums.get(name) !== otherSums.get(name))
    .map((name) => `${name}: ${sums.get(name) ?? 'missing'} and ${otherSums.get(name) ?? 'missing'}`);
}
