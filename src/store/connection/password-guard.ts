/**
 * What a server may ask of a login. The driver sends a password in clear text, or as an MD5 hash that is nearly as good,
 * to whoever says that it is Postgres. SCRAM shows it to nobody, and a server that does not know it fails.
 */
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { isLoopback } from '../../config/loopback.ts';

const revealing = {
  authenticationCleartextPassword: 'in clear text',
  authenticationMD5Password: 'as an MD5 hash',
} as const;

/**
 * Ends the connection of a client when its server asks for a password that others could read on the network. To be called
 * before it connects.
 */
export function guardPassword(client: Client): void {
  const { connection } = client;
  for (const [message, how] of Object.entries(revealing)) {
    // Ahead of the driver's own listener: what that writes to a connection that is destroyed goes nowhere.
    connection.prependListener(message, () => {
      const socket = connection.stream as Socket;
      if (!staysPrivate(socket)) socket.destroy(refusal(client, how));
    });
  }
}

/** Whether nobody else reads what is sent: it is encrypted, or stays on this machine. */
function staysPrivate(socket: Socket): boolean {
  if (socket instanceof TLSSocket) return true;
  // A socket of the file system has no address.
  const address = socket.remoteAddress?.replace(/^::ffff:/i, '') ?? 'localhost';
  return isLoopback(isIP(address) === 6 ? `[${address}]` : address);
}

function refusal({ host, port }: Client, how: string): IndexerError {
  return new IndexerError(`Postgres at ${host}:${String(port)} asks for the password ${how}, without encryption`, {
    code: 'STORE_TLS_REFUSED',
    remedy:
      'write sslmode=verify-full into the database URL; or have the server ask by scram-sha-256 (pg_hba.conf, auth_type of PgBouncer)',
  });
}
