/**
 * Digests of earlier runs, so that a change of the write path that changes what is written shows at once: with the same
 * migrations and the same recording the tables must hold the same, whatever wrote them.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrationFiles } from '../../src/store/schema/migrations.ts';
import type { Digest } from './digest.ts';

interface Known {
  readonly key: string;
  readonly hash: string;
}

/**
 * Compares with the digest of an earlier run of the same name; remembers the first one.
 * @returns what is wrong, in words
 */
export async function unlikeBefore(
  folder: string,
  name: string,
  digest: Digest,
  postgres: string,
): Promise<string | undefined> {
  const sql = (await migrationFiles()).map((file) => file.sql).join('\n');
  const key = createHash('sha256').update(`${postgres}\n${sql}`).digest('hex');
  const path = join(folder, `digest-${name}.json`);
  const known = read(path);
  if (known?.key === key && known.hash !== digest.hash) {
    return `the tables differ from those of an earlier run with the same migrations; delete ${path} if that is meant`;
  }
  if (known?.key !== key) writeFileSync(path, JSON.stringify({ key, hash: digest.hash } satisfies Known));
  return undefined;
}

function read(path: string): Known | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Known;
  } catch {
    return undefined;
  }
}
