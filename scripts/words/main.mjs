/**
 * Checks the wording of all prose in the project: `npm run words`.
 *
 * A line may be allowed, by its text, in `allowed.txt`. A file that has not been rewritten yet has an allowance in
 * `allowance.json`, which may only fall; `--update` lowers it. Long sentences are reported, but are not failures.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasProse, proseOf } from './prose.mjs';
import { rules } from './rules.mjs';
import { longSentences } from './sentences.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const own = 'scripts/words/';
const allowancePath = fileURLToPath(new URL('allowance.json', import.meta.url));
const allowedPath = fileURLToPath(new URL('allowed.txt', import.meta.url));

/** @type {Record<string, number>} */
const allowance = JSON.parse(readFileSync(allowancePath, 'utf8'));
const allowed = new Set(
  readFileSync(allowedPath, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const lists = process.argv.includes('--list');

const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => hasProse(path) && !path.startsWith(own) && existsSync(root + path))
  .filter((path) => wanted.length === 0 || wanted.some((start) => path.startsWith(start)));

let failed = false;
let long = 0;
/** @type {Record<string, number>} */
const counts = {};
for (const path of files) {
  const prose = proseOf(path, readFileSync(root + path, 'utf8'));
  const found = prose.flatMap(({ line, text }) => findings(path, line, text));
  if (path.endsWith('.md')) long += longSentences(prose).length;
  if (found.length > 0) counts[path] = found.length;
  const most = allowance[path] ?? 0;
  if (found.length > most) {
    failed = true;
    console.error(`${path}: expected at most ${most} lines with words of rules.mjs, got ${found.length}:`);
  }
  if (found.length > most || lists) for (const finding of found) console.error(`  ${finding}`);
}

/** @param {string} path @param {number} line @param {string} text @returns {string[]} */
function findings(path, line, text) {
  if (allowed.has(`${path}: ${text.trim()}`)) return [];
  const rule = rules.find(({ pattern }) => pattern.test(text));
  return rule === undefined
    ? []
    : [`${path}:${line} "${rule.pattern.exec(text)?.[0]}" (write: ${rule.instead}) ${text.trim().slice(0, 100)}`];
}

if (process.argv.includes('--update')) {
  const lower = Object.entries(counts).map(([path, count]) => [
    path,
    process.argv.includes('--begin') ? count : Math.min(count, allowance[path] ?? 0),
  ]);
  writeFileSync(allowancePath, `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`);
}
const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
console.log(
  `words: ${files.length} files, ${total} lines allowed by allowance.json, ${long} sentences over 30 words in documents`,
);
process.exitCode = failed ? 1 : 0;
