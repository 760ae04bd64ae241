/**
 * The refusals of package uploads and lookups, with the participant's codes, categories and causes. The sandbox words
 * the `reason` and `entries` of the context.
 */
import { failure } from '../wire/failure.ts';
import type { LedgerFailure } from '../wire/failure.ts';

const longestContext = 500;

function formatList(entries: readonly string[]): string {
  return `List(${entries.join(', ')})`.slice(0, longestContext);
}

/** The file is not a zip, or its manifest is missing or unreadable. */
export function invalidDar(entries: readonly string[], throwable: string): LedgerFailure {
  const context = { entries: formatList(entries), throwable };
  return failure({ code: 'INVALID_DAR', category: 8, cause: 'Dar file is corrupt', context });
}

/** The manifest names a missing entry, or an entry that occurs twice. */
export function invalidZipEntry(name: string, entries: readonly string[]): LedgerFailure {
  const context = { name, entries: formatList(entries) };
  return failure({ code: 'INVALID_ZIP_ENTRY', category: 8, cause: 'Dar zip file is corrupt', context });
}

export function zipBomb(msg: string): LedgerFailure {
  const cause = 'Dar zip file seems to be a zip bomb.';
  return failure({ code: 'ZIP_BOMB', category: 8, cause, context: { msg } });
}

/** An entry is not an archive of the package language. */
export function darParseError(reason: string): LedgerFailure {
  const cause = 'Failed to parse the dar file content.';
  return failure({ code: 'DAR_PARSE_ERROR', category: 8, cause, context: { reason } });
}

/** @param first description of a package, e.g. `9fbb…(richtypes v0.0.1)` */
export function knownPackageVersion(first: string, second: string): LedgerFailure {
  const cause = `Tried to vet two packages with the same name and version: ${first} and ${second}.`;
  return failure({ code: 'KNOWN_PACKAGE_VERSION', category: 8, cause });
}

export function packageNotFound(id: string): LedgerFailure {
  const resources = [['ErrorResource(PACKAGE)', id]] as const;
  const context = { packageId: `'${id}'` };
  return failure({ code: 'PACKAGE_NOT_FOUND', category: 11, cause: 'Could not find package.', context, resources });
}
