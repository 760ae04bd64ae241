/**
 * Checks the words of everything a person reads: `npm run words`.
 *
 * A line may be allowed, by its text, in `allowed.txt`. A file that has not been rewritten yet has an allowance in
 * `allowance.json`, which is the number of its lines and may only fall: `--update` lowers it. Long sentences are reported
 * and fail nothing. Paths limit the check to files below them, and `--list` prints the lines that are allowed too.
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

const isUpdate = process.argv.includes('--update') && wanted.length === 0;
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
// An allowance that is larger than needed would allow new lines.
const tooHigh = Object.entries(allowance).filter(([path, most]) => (counts[path] ?? 0) < most);
if (wanted.length === 0 && !isUpdate && tooHigh.length > 0) {
  failed = true;
  console.error(`allowance.json is too high for ${tooHigh.map(([path]) => path).join(', ')}`);
  console.error('  what to do: node scripts/words/main.mjs --update');
}

/** @param {string} path @param {number} line @param {string} text @returns {string[]} */
function findings(path, line, text) {
  if (allowed.has(`${path}: ${text.trim()}`)) return [];
  const rule = rules.find(({ pattern }) => pattern.test(text));
  return rule === undefined
    ? []
    : [`${path}:${line} "${rule.pattern.exec(text)?.[0]}" (write: ${rule.instead}) ${text.trim().slice(0, 100)}`];
}

if (isUpdate) {
  const lower = Object.entries(allowance).map(([path, most]) => [path, Math.min(counts[path] ?? 0, most)]);
  const left = lower.filter(([, most]) => most !== 0);
  writeFileSync(allowancePath, `${JSON.stringify(Object.fromEntries(left), null, 2)}\n`);
}
const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
console.log(
  `words: ${files.length} files, ${total} lines allowed by allowance.json, ${long} sentences over 30 words in documents`,
);
process.exitCode = failed ? 1 : 0;
