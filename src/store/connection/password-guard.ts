/**
 * Limits the authentication methods that a server may request. The driver sends a password to any server that claims to
 * be Postgres: in clear text, or as an MD5 hash that is nearly as useful to an attacker. SCRAM does not reveal the
 * password, and fails if the server does not know it.
 */
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { isLoopback } from '../../config/loopback.ts';

const unsafePasswordMessages = {
  authenticationCleartextPassword: 'in clear text',
  authenticationMD5Password: 'as an MD5 hash',
} as const;

/**
 * Ends the connection of a client if its server requests a password that others could read on the network. Call it
 * before the client connects.
 */
export function protectPassword(client: Client): void {
  const { connection } = client;
  for (const [message, method] of Object.entries(unsafePasswordMessages)) {
    // This listener runs before the listener of the driver. Data that the driver then writes to the destroyed
    // connection is discarded.
    connection.prependListener(message, () => {
      const socket = connection.stream as Socket;
      if (!isPrivateConnection(socket)) socket.destroy(passwordRefusedError(client, method));
    });
  }
}

/** Whether sent data is private: it is encrypted, or does not leave this machine. */
function isPrivateConnection(socket: Socket): boolean {
  if (socket instanceof TLSSocket) return true;
  // A Unix socket has no address.
  const address = socket.remoteAddress?.replace(/^::ffff:/i, '') ?? 'localhost';
  return isLoopback(isIP(address) === 6 ? `[${address}]` : address);
}

function passwordRefusedError({ host, port }: Client, method: string): IndexerError {
  return new IndexerError(`Postgres at ${host}:${String(port)} requests the password ${method}, without encryption`, {
    code: 'STORE_TLS_REFUSED',
    remedy:
      'write sslmode=verify-full into the database URL; or set the server to scram-sha-256 (pg_hba.conf, auth_type of PgBouncer)',
  });
}
