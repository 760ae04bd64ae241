/** Which addresses are this machine itself. */
import { isIPv4 } from 'node:net';

/** Of the host of a URL, or the address of a socket. Only literal addresses count: 127.example.org is somebody else's. */
export function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').replace('::ffff:', '');
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
  );
}
