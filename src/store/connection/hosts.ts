/**
 * Several servers in one database URL, `postgres://user:password@h1:5432,h2:5432/database`: one primary and its standbys.
 * The driver knows neither such lists nor `target_session_attrs`, so the list is kept here: everybody connects to the
 * current host, and whoever finds it gone or read-only moves all of us on to the next one.
 */
import type { ClientBase } from 'pg';
import type { IndexerError } from '../../errors/indexer-error.ts';
import { isLoopback } from '../../config/loopback.ts';
import { readSmallFileSync } from '../../config/small-file.ts';

/** What a client meets on a host that is not, or no longer, the one to write to. */
const wrongHost: ReadonlySet<string> = new Set(['STORE_UNREACHABLE', 'STORE_READ_ONLY']);

/** One URL for each host of a URL, in their order. Anything that is not such a list is one URL. */
export function urlsOf(given: string): readonly string[] {
  const url = withTrustedAuthorities(given);
  // Greedy up to the last @, as passwords with an unescaped @ are read elsewhere too.
  const parts = /^(postgres(?:ql)?:\/\/(?:.*@)?)([^/?#@]*)([/?#].*)?$/s.exec(url);
  const hosts = (parts?.[2] ?? '').split(',').filter((host) => host !== '');
  return hosts.length < 2 ? [url] : hosts.map((host) => `${parts?.[1] ?? ''}${host}${parts?.[3] ?? ''}`);
}

/**
 * `sslrootcert=system` names no file: as in libpq it stands for the authorities that this system trusts, and for
 * `verify-full`. The driver would read a file of this name.
 */
function withTrustedAuthorities(url: string): string {
  return url.replace(/(?<=[?&])sslrootcert=system(?=[&#]|$)/, 'sslmode=verify-full');
}

/** Which database a URL means, `host:port/name` as it is written there, without user, password and settings. */
export function placeOf(url: string): string {
  const parts = /^postgres(?:ql)?:\/\/(?:.*@)?([^/?#@]*)(\/[^?#]*)?/s.exec(url);
  return `${parts?.[1] ?? ''}${parts?.[2] ?? ''}`;
}

/** Whether two such places name one database, as far as names can tell: loopback has several, and 5432 need not be said. */
export function samePlace(one: string, other: string): boolean {
  return usualName(one) === usualName(other);
}

function usualName(place: string): string {
  const [, hosts = '', name = ''] = /^([^/]*)(\/.*)?$/s.exec(place) ?? [];
  const usual = hosts.split(',').map((host) => {
    const [, address = host, port = '5432'] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
    return `${isLoopback(address) ? 'localhost' : address.toLowerCase()}:${port}`;
  });
  return `${usual.join(',')}${name}`;
}

export class HostList {
  readonly #file: string | undefined;
  #url: string;
  #urls: readonly string[];
  readonly #bornAt = new WeakMap<ClientBase, number>();
  #moves = 0;

  /** @param file where the URL comes from, read again when the password is refused: secrets are rotated in place */
  constructor(url: string, file?: string) {
    this.#url = url;
    this.#file = file;
    this.#urls = urlsOf(url);
  }

  get count(): number {
    return this.#urls.length;
  }

  /** How often the current host was changed: what one remembers to tell later which host was meant. */
  get moves(): number {
    return this.#moves;
  }

  /** URL of the host to connect to now. Holds a password. */
  url(): string {
    return this.#urls[this.#moves % this.#urls.length] ?? '';
  }

  /** Remembers to which host a new client connects. */
  note(client: ClientBase): void {
    this.#bornAt.set(client, this.#moves);
  }

  /** False for a client of a host that we have left since. */
  isCurrent(client: ClientBase): boolean {
    return (this.#bornAt.get(client) ?? this.#moves) === this.#moves;
  }

  /**
   * Moves on to the next host when this error means that the current one is of no use, and to what the file of the URL
   * holds by now when it means that the password is of no use. True when it is worth trying again at once.
   * @param met value of `moves` when the host that failed was chosen: a host that was left already is not left twice
   */
  moveOn(error: IndexerError, met: number): boolean {
    if (error.code === 'STORE_PASSWORD_REFUSED') return this.#readAgain();
    if (this.count === 1 || !wrongHost.has(error.code)) return false;
    if (met === this.#moves) this.#moves += 1;
    return true;
  }

  #readAgain(): boolean {
    if (this.#file === undefined) return false;
    const found = contentOf(this.#file);
    // Empty for a moment while it is being replaced.
    if (found === '' || found === this.#url) return false;
    this.#url = found;
    this.#urls = urlsOf(found);
    this.#moves += 1;
    return true;
  }
}

function contentOf(file: string): string {
  try {
    return readSmallFileSync(file).trim();
  } catch {
    return '';
  }
}
