// Runs before `npm start` and `npm test`, so that both work on a fresh clone: installs the dependencies and compiles
// the program when that was not done yet or is out of date. Says nothing and takes no time when nothing is to do.
// Uses nothing but Node, because nothing else may be installed yet.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const installReason = whyInstall();
// No dependency gets to run anything while it is installed; none needs to. Compiling needs the development
// dependencies, whatever NODE_ENV says.
if (installReason !== undefined)
  npm(installReason, ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--include=dev']);
const buildReason = whyBuild();
if (buildReason !== undefined) npm(buildReason, ['run', '--silent', 'build']);

function whyInstall() {
  const lock = modified('package-lock.json');
  const installed = modified('node_modules/.package-lock.json');
  // A published package has no lock file: its dependencies came with it.
  if (lock === undefined) return undefined;
  if (installed === undefined) return 'node_modules is missing';
  return lock > installed ? 'package-lock.json has changed' : undefined;
}

function whyBuild() {
  const sources = newest('src');
  if (sources === undefined) return undefined;
  const built = modified('dist/main.js');
  if (built === undefined) return 'dist is missing';
  const configured = readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  const changed = Math.max(sources, ...configured.map((name) => modified(name) ?? 0));
  return changed > built ? 'the sources have changed' : undefined;
}

function npm(reason, args) {
  // On stderr: the output of the program that is started afterwards stays clean.
  process.stderr.write(`setup: ${reason}, running npm ${args.join(' ')}\n`);
  const cli = process.env.npm_execpath;
  const [file, all] = cli === undefined ? ['npm', args] : [process.execPath, [cli, ...args]];
  const done = spawnSync(file, all, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: cli === undefined && process.platform === 'win32',
  });
  if (done.status === 0) return;
  process.stderr.write(`setup: npm ${args.join(' ')} failed: ${done.error?.message ?? 'see above'}\n`);
  process.exit(done.status ?? 1);
}

/** Milliseconds since 1970 of the last change, undefined when there is no such file. */
function modified(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs;
}

/** The last change of any file below a folder; folders count too, so that a removed file is noticed. */
function newest(folder) {
  const own = modified(folder);
  if (own === undefined) return undefined;
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return Math.max(
    own,
    ...entries.map((entry) => {
      const path = join(folder, entry.name);
      return (entry.isDirectory() ? newest(path) : modified(path)) ?? 0;
    }),
  );
}
