/**
 * A soak of half a minute, and a second piece that continues it. The tables, the clients of `/changes` and the webhook
 * have the events of the ledger, although participant, Postgres and indexer are killed.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'soak-test-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface SoakResult {
  readonly pieces: readonly {
    readonly updates: number;
    readonly begin: number;
    readonly faults: readonly { readonly kind: string }[];
    readonly checks: readonly { readonly name: string; readonly isPassed: boolean }[];
  }[];
}

const soakFolder = join(folder, 'soak');
const json = join(folder, 'result.json');

/** Runs one piece of half a minute. Rejects if a check of the soak fails. */
async function runPiece(
  flag: '--keep' | '--resume',
): Promise<{ readonly output: string; readonly result: SoakResult }> {
  const args = ['run', '--silent', 'soak', '--', '--minutes', '0.5', '--pieces', '1', flag, soakFolder, '--json', json];
  const { stdout } = await promisify(execFile)('npm', args, { timeout: 500_000 });
  return { output: stdout, result: JSON.parse(readFileSync(json, 'utf8')) as SoakResult };
}

const passedNames = (result: SoakResult): readonly string[] =>
  (result.pieces.at(-1)?.checks ?? []).filter(({ isPassed }) => isPassed).map(({ name }) => name);

describe('soak', () => {
  it('ends with equal tables, clients and webhook after faults of all processes', async () => {
    const { output, result } = await runPiece('--keep');
    expect(passedNames(result)).toEqual(['webhook', 'clients', 'counts', 'verify']);
    expect(new Set(result.pieces[0]?.faults.map(({ kind }) => kind.split(' ')[0]))).toEqual(
      new Set(['participant', 'postgres', 'indexer']),
    );
    expect(output).toMatch(/^indexer memory, MiB {2,}\d/m);
  }, 600_000);

  it('continues the ledger, the database and the clients of its folder', async () => {
    const { output, result } = await runPiece('--resume');
    expect(passedNames(result)).toEqual(['webhook', 'clients', 'counts', 'verify']);
    expect(result.pieces.map(({ begin }) => begin)).toEqual([0, 30]);
    expect(result.pieces[1]?.updates).toBeGreaterThan((result.pieces[0]?.updates ?? 0) + 1_000);
    expect(output).toContain('all 2 pieces together');
  }, 600_000);
});
