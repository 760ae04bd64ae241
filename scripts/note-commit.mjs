// Records, next to the compiled program, the commit it was built from, if it can be determined. A container is built
// without the repository: SOURCE_COMMIT has it there. Last step of the compilation: setup.mjs uses the file as a sign of a complete one.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../dist/commit', import.meta.url));
writeFileSync(file, `${process.env.SOURCE_COMMIT || fromGit() || 'unknown'}\n`);

function fromGit() {
  // A repository that contains this package as a dependency does not determine its commit.
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
