/** An address that may hold a secret: as `--NAME` where it holds no password, else as `--NAME-file`. */
import { maskUrl } from '../../config/url-secrets.ts';
import { readSmallFileSync, whyUnreadable } from '../../config/small-file.ts';
import type { Given } from './parse.ts';
import { misuse } from './refusals.ts';

export interface GivenAddress {
  readonly url: string;
  /** Where it came from; undefined when it was given as it is. */
  readonly urlFile: string | undefined;
}

/** Undefined where neither flag is given. @throws IndexerError USAGE */
export function givenAddress(given: Given, name: string, usage: string): GivenAddress | undefined {
  const [url, file] = [given.text(name), given.text(`${name}-file`)];
  if (url !== undefined && file !== undefined) {
    throw misuse(`--${name} and --${name}-file are one thing, given twice`, usage);
  }
  if (file !== undefined) return { url: contents(file, name, usage), urlFile: file };
  if (url === undefined) return undefined;
  if (maskUrl(url) !== url) {
    throw misuse(`--${name} holds a password, and every user of the machine can read arguments`, `use --${name}-file`);
  }
  return { url, urlFile: undefined };
}

function contents(file: string, name: string, usage: string): string {
  try {
    return readSmallFileSync(file).trim();
  } catch (thrown) {
    throw misuse(`--${name}-file: "${file}" cannot be read: ${whyUnreadable(thrown)}`, usage);
  }
}
