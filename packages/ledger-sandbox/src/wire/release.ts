/** The participant releases the sandbox can stand for. */

export type Release = '3.4' | '3.5' | '3.6';

/** Oldest first. */
export const releases: readonly Release[] = ['3.4', '3.5', '3.6'];

/** What GET /v2/version says for each. */
export const versionOf: Readonly<Record<Release, string>> = { '3.4': '3.4.12', '3.5': '3.5.10', '3.6': '3.6.0' };

/** True when `release` lies within the two, both inclusive; an absent bound is open. */
export function isWithin(release: Release, since: Release | undefined, last: Release | undefined): boolean {
  const at = releases.indexOf(release);
  return at >= releases.indexOf(since ?? '3.4') && at <= releases.indexOf(last ?? '3.6');
}
