/** Logins that see the contracts of one party, for comparisons of views. */
import { randomBytes } from 'node:crypto';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { secretFile } from '../support/secret-file.ts';

const password = 'of a reader';

export interface LimitedReaders extends AsyncDisposable {
  /** The database URL of each login, in the order of the parties. */
  readonly urls: readonly string[];
}

/** Creates a login for each party. They are removed at the end of the scope. */
export async function limitedReaders(url: string, parties: readonly string[]): Promise<LimitedReaders> {
  const roles: string[] = [];
  const urls: string[] = [];
  for (const party of parties) {
    const role = `reader_${randomBytes(4).toString('hex')}`;
    const argv = [role, '--party', party, '--password-file', secretFile(password)];
    await runCommand(grantReaderCommand, argv, { DATABASE_URL: url });
    const reader = new URL(url);
    [reader.username, reader.password] = [role, password];
    roles.push(role);
    urls.push(reader.href);
  }
  return {
    urls,
    [Symbol.asyncDispose]: async () => {
      for (const role of roles) await query(url, `drop owned by ${role}; drop role ${role}`);
    },
  };
}
