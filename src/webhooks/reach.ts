/**
 * Addresses that deliveries may connect to. A user who may add a webhook must not use it to probe the network of the
 * indexer. So names are resolved first, and the connection is made to the checked address.
 */
import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { isLoopback } from '../config/loopback.ts';

/** Each value allows everything that the values before it allow. `none`: nothing is delivered. */
export type NetworkReach = 'none' | 'public' | 'private' | 'loopback';

const loopback = blocks(['127.0.0.0/8', '::1/128']);
/** Private networks, including the shared address space of carriers. */
const privateBlocks = blocks(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']);
/** IPv6 addresses that are assigned to networks. All others are reserved, or have a special meaning. */
const globalIpv6 = blocks(['2000::/3']);
/**
 * Addresses without a receiver: unspecified, link-local (where clouds serve secrets), for documents and benchmarks,
 * multicast, reserved, and addresses that contain another address.
 */
const forbiddenBlocks = blocks([
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
export function addressRefusalReason(address: string, networkReach: NetworkReach): string | undefined {
  const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  const ipAddress = mappedIpv4 ?? address;
  const family = isIP(ipAddress) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(ipAddress) === 0 || /^::ffff:/i.test(ipAddress)) return 'no receiver may have this address';
  if (loopback.check(ipAddress, family))
    return networkReach === 'loopback' ? undefined : needs('loopback', 'this machine');
  if (forbiddenBlocks.check(ipAddress, family)) return 'no receiver may have this address';
  if (!privateBlocks.check(ipAddress, family)) {
    return family === 'ipv4' || globalIpv6.check(ipAddress, family) ? undefined : 'no receiver may have this address';
  }
  return networkReach === 'loopback' || networkReach === 'private' ? undefined : needs('private', 'a private network');
}

const clear = 'http is not encrypted: only https may leave this machine';

function isThisMachine(address: string): boolean {
  return loopback.check(address.replace(/^::ffff:(?=\d+\.)/i, ''), address.includes('.') ? 'ipv4' : 'ipv6');
}

function needs(networkReach: NetworkReach, location: string): string {
  return `it is in ${location}, and INDEXER_WEBHOOK_NETWORKS does not include ${networkReach}`;
}

/** Why nothing is sent to a URL, whatever its name resolves to; undefined if it may be tried. */
export function urlRefusalReason(text: string, networkReach: NetworkReach): string | undefined {
  if (!URL.canParse(text)) return 'it is not a URL';
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'it is neither https nor http';
  if (username !== '' || password !== '') return 'it contains a user: put secrets of the receiver into the path';
  if (hash !== '') return 'the part after # is not sent';
  if (protocol === 'http:' && !isLoopback(hostname)) return clear;
  const literal = hostname.replace(/^\[|\]$/g, '');
  return isIP(literal) === 0 ? undefined : addressRefusalReason(literal, networkReach);
}

/** Code of an error of {@link createLookup}. */
export const addressRefused = 'WEBHOOK_ADDRESS_REFUSED';

/** Same signature as `dns.lookup`. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface LookupRequest {
  /** For unencrypted requests, which may only connect to this machine, whatever the host name is. */
  readonly onlyHere: boolean;
  readonly resolve?: Resolve | undefined;
}

/** Resolves names for connections, once for each connection. Fails if one of the addresses is not allowed. */
export function createLookup(
  networkReach: NetworkReach,
  { onlyHere: isLoopbackOnly, resolve = lookup }: LookupRequest,
): LookupFunction {
  const refusalReason = (address: string): string | undefined =>
    addressRefusalReason(address, networkReach) ?? (isLoopbackOnly && !isThisMachine(address) ? clear : undefined);
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const reason = addresses.map(({ address }) => refusalReason(address)).find((text) => text !== undefined);
      const [first] = addresses;
      if (reason !== undefined || first === undefined) {
        const refusalError = new Error(reason ?? 'it has no address') as NodeJS.ErrnoException;
        refusalError.code = addressRefused;
        return callback(refusalError, []);
      }
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}
