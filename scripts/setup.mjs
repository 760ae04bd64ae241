// Runs before `npm start` (with argument `start`) and `npm test`, so that both work on a fresh clone. It installs
// missing dependencies, and compiles the program if it is not compiled or out of date. If there is nothing to do, it
// prints nothing and takes no time. For a start it installs only the dependencies for running and compiling. For tests
// it adds all others without changing existing ones, because a demo may be running with them. It uses only Node,
// because no package may be installed yet; requirements.cjs has checked its version.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const toStart = process.argv[2] === 'start';
/** Packages that are compiled in addition to the program, each one separately. */
const besides = ['packages/embedded-postgres', 'packages/lake', 'packages/ledger-sandbox'];
/** A package that is compiled into `dist`. */
const bundled = 'packages/codegen/src';

const lock = json('package-lock.json')?.packages;
// A published package has no lock file, because its dependencies were installed with it.
if (lock !== undefined) install();
const reason = whyBuild();
if (reason !== undefined) npm(reason, ['run', '--silent', 'build']);

function install() {
  // npm writes this list when the installation is complete.
  const installed = json('node_modules/.package-lock.json')?.packages ?? {};
  const paths = Object.keys(installed).filter((path) => path in lock);
  // Install scripts of dependencies are never run, because none is needed. NODE_ENV has no effect.
  const tools = !toStart || paths.some((path) => lock[path].dev) ? '--include=dev' : '--omit=dev';
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', tools];
  if (paths.length === 0) return npm('nothing is installed yet', ['ci', ...quietly]);
  const changed = paths.some((path) => installed[path].version !== lock[path].version);
  if (changed) return npm('package-lock.json has changed', ['ci', ...quietly]);
  const missing = directDependencies().some((path) => !(path in installed && existsSync(join(root, path))));
  if (missing) npm('not everything is installed yet', ['install', '--no-save', ...quietly]);
}

/**
 * Direct dependencies of this package, under their names in the lock file. Dependencies for another platform may be
 * missing.
 */
function directDependencies() {
  const { '': own, ...others } = lock;
  // The other packages of the project: the sandbox, the embedded Postgres, the lake, and the dependencies of the compilation.
  const beside = Object.keys(others).filter((path) => !path.includes('node_modules/'));
  const wanted = Object.assign({}, own.dependencies, ...beside.map((path) => lock[path].dependencies ?? {}));
  if (!toStart) Object.assign(wanted, own.devDependencies);
  return Object.keys(wanted).map((name) => `node_modules/${name}`);
}

function whyBuild() {
  const own = newest('src');
  if (own === undefined) return undefined;
  const sources = Math.max(
    own,
    ...[bundled, ...besides.map((folder) => `${folder}/src`)].map((folder) => newest(folder) ?? 0),
  );
  // Written by the last step of the compilation, so that an incomplete one is detected.
  const built = modified('dist/commit');
  if (built === undefined) return 'the program is not compiled yet';
  if (besides.some((folder) => modified(`${folder}/src`) !== undefined && modified(`${folder}/dist`) === undefined)) {
    return 'the other packages are not compiled yet';
  }
  const configured = readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  const changed = Math.max(sources, ...configured.map((name) => modified(name) ?? 0));
  return changed > built ? 'the sources have changed' : undefined;
}

function npm(why, args) {
  // On stderr, because stdout is for the output of the program that starts afterwards.
  process.stderr.write(`setup: ${why}, running npm ${args.join(' ')}\n`);
  const cli = process.env.npm_execpath;
  const [file, all] = cli === undefined ? ['npm', args] : [process.execPath, [cli, ...args]];
  const done = spawnSync(file, all, { cwd: root, stdio: ['ignore', 2, 2] });
  if (done.status === 0) return;
  process.stderr.write(`setup: npm ${args.join(' ')} failed: ${done.error?.message ?? 'see above'}\n`);
  process.exit(done.status ?? 1);
}

/** Parsed contents of a file; undefined if it cannot be read. */
function json(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Time of the last change, milliseconds since 1970; undefined if the file does not exist. */
function modified(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs;
}

/**
 * Time of the last change of any file in a folder and its subfolders. Folders count too, so that a removed file is
 * detected.
 */
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
