/**
 * What participants were recorded to send, and what they say of themselves. It is no part of the project and lies beside
 * it, or where the environment says; tests that compare with it are left out without it, and say so.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const beside = join(import.meta.dirname, '../../../../shared');

/** Folder of recorded answers and frames, `*.json`, with those made from a description of the wire in `derived/`. */
export const samplesFolder = process.env['LEDGER_SAMPLES'] ?? join(beside, 'wire/samples');

/** Folder of the participant's own descriptions, `openapi-<release>.yaml` and `asyncapi-<release>.yaml`. */
export const descriptionsFolder = join(samplesFolder, '..');

/** Folder of DARs made by other compilers than the tests' own. */
export const darsFolder = process.env['LEDGER_DARS'] ?? join(beside, 'dars');

/**
 * Whether the samples are there. Without them one line says what is left out; with CI=true, where nobody reads it, a
 * test fails instead. To be called once, outside of tests.
 * @param leftOut completes `no recorded samples at …: `
 */
export function haveSamples(leftOut: string): boolean {
  const present = existsSync(samplesFolder);
  if (!present) console.log(`no recorded samples at ${samplesFolder} (set LEDGER_SAMPLES): ${leftOut}`);
  if (process.env['CI'] === 'true') {
    it('the recorded samples are there', () => {
      expect(present, `expected samples at ${samplesFolder}`).toBe(true);
    });
  }
  return present;
}
