// Notes beside the compiled program which commit it was built from, as far as that can be known. A container is built
// without the repository: there SOURCE_COMMIT says it. The last step of compiling: setup.mjs knows by it that all was done.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../dist/commit', import.meta.url));
writeFileSync(file, `${process.env.SOURCE_COMMIT || fromGit() || 'unknown'}\n`);

function fromGit() {
  // The repository of whoever has put this package into theirs says nothing about it.
  if (git('rev-parse', '--show-prefix') !== '') return undefined;
  const head = git('rev-parse', '--short=12', 'HEAD');
  if (!head) return undefined;
  return git('status', '--porcelain', '--', 'src') === '' ? head : `${head}-modified`;
}

function git(...args) {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const done = spawnSync('git', args, { cwd, encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : undefined;
}
