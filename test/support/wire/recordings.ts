/**
 * What a real participant answered, frame by frame, with its errors and refusals. Like the samples it is no part of the
 * project: tests that replay it are left out without it, and say so.
 */
import { existsSync } from 'node:fs';

/**
 * Folder of the recordings, where LEDGER_RECORDINGS says. Undefined, after one line that tells it, without them.
 * @throws Error without them when CI=true, where nobody would read the line
 */
export function recordingsFolder(): string | undefined {
  const folder = process.env['LEDGER_RECORDINGS'] ?? '';
  if (folder !== '' && existsSync(folder)) return folder;
  const missing = folder === '' ? 'LEDGER_RECORDINGS is not set' : `LEDGER_RECORDINGS: there is no folder ${folder}`;
  if (process.env['CI'] === 'true') throw new Error(`${missing}: expected the recordings of a participant`);
  console.log(`${missing}: what a participant was recorded to answer is not replayed`);
  return undefined;
}
