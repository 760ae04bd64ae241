/**
 * Digests of earlier runs. With the same migrations and the same recording, the tables must be the same, whichever
 * version wrote them. So an unintended change of the written rows is detected at once.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrationFiles } from '../../src/store/schema/migrations.ts';
import type { Digest } from './digest.ts';

interface KnownDigest {
  readonly key: string;
  readonly hash: string;
}

/**
 * Compares a digest with that of an earlier run of the same name, and stores the first one.
 * @returns the differences as text
 */
export async function compareWithKnown(
  folder: string,
  name: string,
  digest: Digest,
  postgres: string,
): Promise<string | undefined> {
  const sql = (await migrationFiles()).map((file) => file.sql).join('\n');
  const key = createHash('sha256').update(`${postgres}\n${sql}`).digest('hex');
  const path = join(folder, `digest-${name}.json`);
  const storedDigest = readDigest(path);
  if (storedDigest?.key === key && storedDigest.hash !== digest.hash) {
    return `the tables differ from those of an earlier run with the same migrations; delete ${path} if this is intended`;
  }
  if (storedDigest?.key !== key) writeFileSync(path, JSON.stringify({ key, hash: digest.hash } satisfies KnownDigest));
  return undefined;
}

function readDigest(path: string): KnownDigest | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as KnownDigest;
  } catch {
    return undefined;
  }
}
