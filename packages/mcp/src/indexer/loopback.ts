/** Loopback addresses. Data sent to them does not leave this machine and needs no encryption. */
import { isIPv4 } from 'node:net';

/**
 * True for `localhost`, names below it, and literal loopback addresses.
 * @param hostname host name as in a URL
 */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]') return true;
  // Only literal addresses count: the name 127.example.org may belong to another machine.
  return isIPv4(hostname) && hostname.startsWith('127.');
}

/** Whether data sent to the URL can be read on the network: plain http to another machine. */
export function isPlaintextRemote({ protocol, hostname }: URL): boolean {
  return protocol !== 'https:' && !isLoopback(hostname);
}
