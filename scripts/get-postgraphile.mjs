// Installs the dependencies of `docs/deploy/graphql` into a folder outside the project. If this Node is older than 22,
// also installs Node 22 next to them:
//
//   POSTGRAPHILE=/var/cache/postgraphile; node scripts/get-postgraphile.mjs "$POSTGRAPHILE"
//
// The tests of test/graphql then use the folder. It must be outside the project, because all npm scripts would use a
// package `node` inside.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , folder] = process.argv;
if (folder === undefined) {
  console.error('usage: node scripts/get-postgraphile.mjs FOLDER');
  process.exit(2);
}
const node22 = '22.23.3';
const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

mkdirSync(join(folder, 'node'), { recursive: true });
for (const file of ['package.json', 'package-lock.json']) {
  copyFileSync(join(import.meta.dirname, '../docs/deploy/graphql', file), join(folder, file));
}
npm(folder, 'ci', ...quietly);
if (Number(process.versions.node.split('.')[0]) < 22) {
  writeFileSync(join(folder, 'node/package.json'), '{ "private": true }\n');
  npm(join(folder, 'node'), 'install', '--no-save', ...quietly, `node-${process.platform}-${process.arch}@${node22}`);
}

function npm(cwd, ...words) {
  execFileSync('npm', words, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}
