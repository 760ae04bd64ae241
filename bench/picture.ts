/** `npm run bench:picture -- FIGURES.json`: draws what an event costs, from the JSON of the benchmark. docs/performance.md */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pictureOf, type PictureFigures } from './figures/picture.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: 'docs/images/cost-per-event.svg' },
    profile: { type: 'string', default: 'default' },
  },
});
const [path] = positionals;
try {
  if (path === undefined) throw new Error('expected the file that npm run bench -- --json FILE wrote');
  const figures = JSON.parse(readFileSync(path, 'utf8')) as PictureFigures;
  writeFileSync(values.out, pictureOf(figures, values.profile));
  process.stdout.write(`${values.out}\n`);
} catch (thrown) {
  process.stderr.write(`bench:picture: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
}
