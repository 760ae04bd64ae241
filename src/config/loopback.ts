/** Loopback addresses. Data sent to them does not leave this machine and needs no encryption. */
import { isIPv4 } from 'node:net';

/** True for `localhost`, names below it, and literal loopback addresses; the host name of a URL. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]') return true;
  // Only a literal address counts: 127.example.org is another machine.
  return isIPv4(hostname) && hostname.startsWith('127.');
}

/** True if data sent to the URL can be read on the network: plain http or ws to another machine. */
export function travelsInClear(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol !== 'https:' && protocol !== 'wss:' && !isLoopback(hostname);
}
