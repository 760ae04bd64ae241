/** A file with a secret, for commands that accept no secret as an argument. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Writes a file and returns its path. The file is removed when the current test ends. */
export function secretFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'secret-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'secret');
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}
