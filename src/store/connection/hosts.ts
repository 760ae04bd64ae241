/**
 * Handles database URLs with several servers, `postgres://user:password@h1:5432,h2:5432/database`: a primary and its
 * standbys. This module handles the list because the driver supports neither such lists nor `target_session_attrs`. All
 * clients connect to the current host. The first client that finds it unreachable or read-only switches all clients to
 * the next host.
 */
import type { ClientBase } from 'pg';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { isLoopback } from '../../config/loopback.ts';
import { readSmallFileSync } from '../../config/small-file.ts';

/** Codes of errors that mean that a host is not, or is no longer, the primary. */
const otherHostCodes: ReadonlySet<string> = new Set(['STORE_UNREACHABLE', 'STORE_READ_ONLY']);

/** One URL for each host of a URL, in the same order. A URL with a single host is returned as it is. */
export function urlsOf(configuredUrl: string): readonly string[] {
  const url = withTrustedAuthorities(configuredUrl);
  // The pattern is greedy up to the last @, because other clients also accept passwords with an unescaped @.
  const parts = /^(postgres(?:ql)?:\/\/(?:.*@)?)([^/?#@]*)([/?#].*)?$/s.exec(url);
  const hosts = (parts?.[2] ?? '').split(',').filter((host) => host !== '');
  return hosts.length < 2 ? [url] : hosts.map((host) => `${parts?.[1] ?? ''}${host}${parts?.[3] ?? ''}`);
}

/**
 * Replaces `sslrootcert=system`, which does not name a file. As in libpq, the setting means that the certificate
 * authorities of this system are trusted and that `verify-full` applies. The driver would try to read a file named
 * `system`.
 */
function withTrustedAuthorities(url: string): string {
  return url.replace(/(?<=[?&])sslrootcert=system(?=[&#]|$)/, 'sslmode=verify-full');
}

/** Label of a URL's database: `host:port/name` as written in the URL, without user, password and settings. */
export function databaseLabel(url: string): string {
  const parts = /^postgres(?:ql)?:\/\/(?:.*@)?([^/?#@]*)(\/[^?#]*)?/s.exec(url);
  return `${parts?.[1] ?? ''}${parts?.[2] ?? ''}`;
}

/**
 * Whether two such labels name the same database. Only the labels are compared. All loopback names count as equal, and
 * port 5432 may be omitted.
 */
export function isSameDatabase(label: string, other: string): boolean {
  return normalizeLabel(label) === normalizeLabel(other);
}

function normalizeLabel(label: string): string {
  const [, hosts = '', name = ''] = /^([^/]*)(\/.*)?$/s.exec(label) ?? [];
  const normalizedHosts = hosts.split(',').map((host) => {
    const [, address = host, port = '5432'] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
    return `${isLoopback(address) ? 'localhost' : address.toLowerCase()}:${port}`;
  });
  return `${normalizedHosts.join(',')}${name}`;
}

export class HostList {
  readonly #file: string | undefined;
  #url: string;
  #urls: readonly string[];
  readonly #bornAt = new WeakMap<ClientBase, number>();
  #moves = 0;

  /**
   * @param file file that contains the URL; read again if the password is refused, because secrets are rotated in place
   */
  constructor(url: string, file?: string) {
    this.#url = url;
    this.#file = file;
    this.#urls = urlsOf(url);
  }

  get count(): number {
    return this.#urls.length;
  }

  /** How often the current host has changed. Callers store this number to report later which host they used. */
  get moves(): number {
    return this.#moves;
  }

  /** URL of the current host. Contains a password. */
  url(): string {
    return this.#urls[this.#moves % this.#urls.length] ?? '';
  }

  /** Records that a new client connects to the current host. */
  note(client: ClientBase): void {
    this.#bornAt.set(client, this.#moves);
  }

  /** False if the client is connected to a host that is no longer current. */
  isCurrent(client: ClientBase): boolean {
    return (this.#bornAt.get(client) ?? this.#moves) === this.#moves;
  }

  /**
   * Switches to the next host if this error means that the current one is unusable. Reads the URL's file again if the
   * error means that the password is invalid. Returns true if an immediate retry may succeed.
   * @param movesBefore value of `moves` when the failed host was chosen; if another caller has switched hosts since then,
   * nothing changes
   */
  moveOn(error: IndexerError, movesBefore: number): boolean {
    if (error.code === 'STORE_PASSWORD_REFUSED') return this.#readAgain();
    if (this.count === 1 || !otherHostCodes.has(error.code)) return false;
    if (movesBefore === this.#moves) this.#moves += 1;
    return true;
  }

  #readAgain(): boolean {
    if (this.#file === undefined) return false;
    const fileContent = readFileContent(this.#file);
    // While the file is being replaced, it may be empty for a moment.
    if (fileContent === '' || fileContent === this.#url) return false;
    this.#url = fileContent;
    this.#urls = urlsOf(fileContent);
    this.#moves += 1;
    return true;
  }
}

function readFileContent(file: string): string {
  try {
    return readSmallFileSync(file).trim();
  } catch {
    return '';
  }
}
