/**
 * Encodes a password as Postgres stores it (SCRAM-SHA-256, RFC 5802 and 7677). If a password is sent in this form, the
 * password itself appears neither on the server nor in its log.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

const iterationCount = 4096;

/** The verifier of a password, for `create role ... password`. */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  // For any realistic password, SASLprep is the same as the compatibility normalization.
  const saltedPassword = pbkdf2Sync(password.normalize('NFKC'), salt, iterationCount, 32, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', saltedPassword).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterationCount}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`;
}
