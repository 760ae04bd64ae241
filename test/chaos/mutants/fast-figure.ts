/**
 * The number of injected bugs that the fast tier detects. `npm run chaos` measures it, and every fast test run prints
 * it.
 */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project root. This file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));

/** Writes the result and the measured commit into `test/support/run/fast-figure.json`. */
export async function writeFastFigure(figure: { readonly noticed: number; readonly of: number }): Promise<void> {
  const commit = execFileSync('git', ['rev-parse', '--short=9', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const path = join(root, 'test/support/run/fast-figure.json');
  await writeFile(path, `${JSON.stringify({ ...figure, commit }, undefined, 2)}\n`);
}
