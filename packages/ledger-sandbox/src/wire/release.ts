/** The participant releases that the sandbox can simulate. */

export type Release = '3.4' | '3.5' | '3.6' | '3.7';

/** All releases, the oldest first. */
export const releases: readonly Release[] = ['3.4', '3.5', '3.6', '3.7'];

/** The version in GET /v2/version by release, unless a sandbox is given another version. */
export const versionOf: Readonly<Record<Release, string>> = {
  '3.4': '3.4.12',
  '3.5': '3.5.10',
  '3.6': '3.6.2',
  '3.7': '3.7.4',
};

/** True if `release` is from `since` to `last`, both inclusive. An absent bound means no limit. */
export function isWithin(release: Release, since: Release | undefined, last: Release | undefined): boolean {
  const index = releases.indexOf(release);
  return (
    (since === undefined || index >= releases.indexOf(since)) && (last === undefined || index <= releases.indexOf(last))
  );
}

/** True for release `since` and all later ones. */
export function isFrom(release: Release, since: Release): boolean {
  return isWithin(release, since, undefined);
}

/** Release of a deprecation in the interface. Both deprecations are disabled in 3.6 and removed in 3.7. */
export type DeprecatedIn = '3.4' | '3.5';

/** Whether the release still has a deprecated part, but refuses to serve it in its default configuration. */
export function isDisabled(release: Release): boolean {
  return release === '3.6';
}

/** Release `since` and all later ones. */
export function from(since: Release): readonly Release[] {
  return releases.slice(releases.indexOf(since));
}
