/** How many injected bugs the fast tier detects: measured by `npm run chaos`, printed by every fast run. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of the project; this file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));

/** Writes `test/support/run/fast-figure.json`, with the commit that was measured. */
export async function writeFastFigure(figure: { readonly noticed: number; readonly of: number }): Promise<void> {
  const commit = execFileSync('git', ['rev-parse', '--short=9', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const path = join(root, 'test/support/run/fast-figure.json');
  await writeFile(path, `${JSON.stringify({ ...figure, commit }, undefined, 2)}\n`);
}
