/**
 * Which names the endpoints answer to. A page of a stranger can have its own name lead to this machine (DNS rebinding) and
 * would then read answers here as its own; the browser still says that name. An address cannot be led elsewhere.
 */
import { isIP } from 'node:net';

/** @param names beside addresses and localhost, in any case */
export function hostCheck(names: readonly string[]): (header: string | undefined) => boolean {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (header) => {
    // Only HTTP/1.0 may leave it out, which no browser speaks.
    if (header === undefined) return true;
    const name = header
      .replace(/:\d*$/, '')
      .replace(/^\[(.*)\]$/, '$1')
      .replace(/\.$/, '')
      .toLowerCase();
    return isIP(name) !== 0 || known.has(name);
  };
}
