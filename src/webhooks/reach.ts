/**
 * Addresses that deliveries may connect to. A user who may add a webhook must not use it to probe the network of the
 * indexer. So names are resolved first, and the connection is made to the checked address.
 */
import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { isLoopback } from '../config/loopback.ts';

/** Each value allows everything that the values before it allow. `none`: nothing is delivered. */
export type Reach = 'none' | 'public' | 'private' | 'loopback';

const loopback = blocks(['127.0.0.0/8', '::1/128']);
/** Private networks, including the shared address space of carriers. */
const own = blocks(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']);
/** IPv6 addresses that are assigned to networks. All others are reserved, or have a special meaning. */
const globalIpv6 = blocks(['2000::/3']);
/**
 * Addresses without a receiver: unspecified, link-local (where clouds serve secrets), for documents and benchmarks,
 * multicast, reserved, and addresses that contain another address.
 */
const never = blocks([
  '0.0.0.0/8',
  '169.254.0.0/16',
  // Addresses of two clouds' metadata services, in a shared network and in a public one.
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.0/24',
  '192.0.2.0/24',
  // Relays between IPv4 and IPv6, which no longer exist.
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  // Address of one cloud's metadata service, in a private network.
  'fd00:ec2::/32',
]);

function blocks(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/**
 * Why deliveries may not connect to an address; undefined if they may. If an IPv6 address wraps an IPv4 address, the
 * wrapped one is checked.
 */
export function refusedAddress(address: string, reach: Reach): string | undefined {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  const plain = mapped ?? address;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(plain) === 0 || /^::ffff:/i.test(plain)) return 'no receiver may have this address';
  if (loopback.check(plain, family)) return reach === 'loopback' ? undefined : needs('loopback', 'this machine');
  if (never.check(plain, family)) return 'no receiver may have this address';
  if (!own.check(plain, family)) {
    return family === 'ipv4' || globalIpv6.check(plain, family) ? undefined : 'no receiver may have this address';
  }
  return reach === 'loopback' || reach === 'private' ? undefined : needs('private', 'a private network');
}

const clear = 'http is not encrypted: only https may leave this machine';

function isHere(address: string): boolean {
  return loopback.check(address.replace(/^::ffff:(?=\d+\.)/i, ''), address.includes('.') ? 'ipv4' : 'ipv6');
}

function needs(reach: Reach, where: string): string {
  return `it is in ${where}, and INDEXER_WEBHOOK_NETWORKS does not include ${reach}`;
}

/** Why nothing is sent to a URL, whatever its name resolves to; undefined if it may be tried. */
export function refusedUrl(text: string, reach: Reach): string | undefined {
  if (!URL.canParse(text)) return 'it is not a URL';
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'it is neither https nor http';
  if (username !== '' || password !== '') return 'it contains a user: put secrets of the receiver into the path';
  if (hash !== '') return 'the part after # is not sent';
  if (protocol === 'http:' && !isLoopback(hostname)) return clear;
  const literal = hostname.replace(/^\[|\]$/g, '');
  return isIP(literal) === 0 ? undefined : refusedAddress(literal, reach);
}

/** Code of an error of {@link lookupWithin}. */
export const addressRefused = 'WEBHOOK_ADDRESS_REFUSED';

/** Same signature as `dns.lookup`. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

interface LookupWithin {
  /** For unencrypted requests, which may only connect to this machine, whatever the host name is. */
  readonly onlyHere: boolean;
  readonly resolve?: Resolve | undefined;
}

/** Resolves names for connections, once for each connection. Fails if one of the addresses is not allowed. */
export function lookupWithin(reach: Reach, { onlyHere, resolve = lookup }: LookupWithin): LookupFunction {
  const refusal = (address: string): string | undefined =>
    refusedAddress(address, reach) ?? (onlyHere && !isHere(address) ? clear : undefined);
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const reason = found.map(({ address }) => refusal(address)).find((text) => text !== undefined);
      const [first] = found;
      if (reason !== undefined || first === undefined) {
        const refused = new Error(reason ?? 'it has no address') as NodeJS.ErrnoException;
        refused.code = addressRefused;
        return callback(refused, []);
      }
      return options.all === true ? callback(null, found) : callback(null, first.address, first.family);
    });
  };
}
