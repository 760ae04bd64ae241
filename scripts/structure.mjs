// Prints the size of the program and the dependencies of its modules as a table: files and lines of src, modules (folders of src and files next
// to them) and the dependencies between them, files that list the tables, and connection pools. Compare before and after a change:
//   node scripts/structure.mjs [folder of another checkout]
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(process.argv.slice(2).find((word) => !word.startsWith('--')) ?? '.');
const src = join(root, 'src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(src, name), 'utf8') }));

/** Names of the storage tables, from their generated types. */
const tables = [
  ...readFileSync(join(src, 'store/connection/tables.ts'), 'utf8').matchAll(/^ {2}readonly (\w+): \w+Table;/gm),
].map(([, name]) => name);

/** The first folder below src, or the file itself. */
function roomOf(name) {
  return name.split('/')[0];
}

function importsOf({ name, text }) {
  return [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, target]) =>
    relative(src, resolve(src, dirname(name), target)),
  );
}

const arrows = new Set();
let across = 0;
let all = 0;
for (const file of files) {
  for (const target of importsOf(file)) {
    all += 1;
    const [from, to] = [roomOf(file.name), roomOf(target)];
    if (from === to) continue;
    across += 1;
    arrows.add(`${from} ${to}`);
  }
}

/** Literals or keys that are table names. A file that contains many of them lists the tables. */
function tablesIn(text) {
  return tables.filter((table) => new RegExp(`(?:'${table}'|^ *${table}:)`, 'm').test(text)).length;
}
const listed = files.filter(({ name, text }) => name !== 'store/connection/tables.ts' && tablesIn(text) >= 8);
const lines = (text) => text.split('\n').length - 1;
const pools = files.flatMap(({ name, text }) => [...text.matchAll(/\bopenDatabase\(\{/g)].map(() => name));

const rows = [
  ['files of src', files.length],
  ['lines of src', files.reduce((sum, { text }) => sum + lines(text), 0)],
  ['modules: folders of src and files next to them', new Set(files.map(({ name }) => roomOf(name))).size],
  ['files next to the folders', files.filter(({ name }) => !name.includes('/')).length],
  ['dependencies between modules', arrows.size],
  ['imports between modules', `${across} of ${all}`],
  ['files that list at least eight tables', listed.length],
  ['places that open a pool', pools.length],
];
const width = Math.max(...rows.map(([what]) => what.length));
for (const [what, value] of rows) console.log(`${what.padEnd(width)}  ${value}`);
if (process.argv.includes('--names')) {
  for (const { name, text } of listed) console.log(`  ${name}: ${tablesIn(text)} tables`);
  for (const name of pools) console.log(`  pool: ${name}`);
}
