/**
 * Reads an address that may contain a secret. It is passed as `--NAME` if it has no password, otherwise as
 * `--NAME-file`.
 */
import { maskUrl } from '../../config/url-secrets.ts';
import { readSmallFileSync, unreadableReason } from '../../config/small-file.ts';
import type { Args } from './parse.ts';
import { usageError } from './refusals.ts';

export interface DatabaseAddress {
  readonly url: string;
  /** The file that contains the address; undefined if it was passed as a value. */
  readonly urlFile: string | undefined;
}

/** The address; undefined if neither flag is set. @throws IndexerError USAGE */
export function addressFromFlags(args: Args, name: string, usage: string): DatabaseAddress | undefined {
  const [url, file] = [args.text(name), args.text(`${name}-file`)];
  if (url !== undefined && file !== undefined) {
    throw usageError(`--${name} and --${name}-file cannot be combined`, usage);
  }
  if (file !== undefined) return { url: contents(file, name, usage), urlFile: file };
  if (url === undefined) return undefined;
  if (maskUrl(url) !== url) {
    throw usageError(
      `--${name} contains a password, and every user of the machine can read arguments`,
      `use --${name}-file`,
    );
  }
  return { url, urlFile: undefined };
}

function contents(file: string, name: string, usage: string): string {
  try {
    return readSmallFileSync(file).trim();
  } catch (thrown) {
    throw usageError(`--${name}-file: "${file}" cannot be read: ${unreadableReason(thrown)}`, usage);
  }
}
