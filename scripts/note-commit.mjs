// Records the commit that the compiled program was built from, in a file next to the program, if the commit is known. A
// container is built without the repository, so SOURCE_COMMIT contains it there. This is the last step of the
// compilation: for setup.mjs, the file indicates a complete one.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../dist/commit', import.meta.url));
writeFileSync(file, `${process.env.SOURCE_COMMIT || fromGit() || 'unknown'}\n`);

function fromGit() {
  // If this package is a dependency in another repository, the commit of that repository is not the one of this
  // package.
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
