// Builds all files of a release from a clean clone of the current commit: `npm run release -- --dry-run --json FILE`. It
// builds twice and compares the bytes; `--once` builds once. Nothing is published from here: .github/workflows/release.yml
// publishes these files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { baseOfImage } from './base.mjs';
import { buildRelease } from './build.mjs';
import { artifactsIn, differencesOf } from './checksums.mjs';
import { ReleaseError, run } from './run.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const usage = 'npm run release -- --dry-run [--twice | --once] [--json FILE] [--out FOLDER]';

// npm takes the modes of files over into packages.
process.umask(0o022);

try {
  release(optionsOf(process.argv.slice(2)));
} catch (thrown) {
  if (!(thrown instanceof ReleaseError)) throw thrown;
  process.stderr.write(`release: ${thrown.message}\n`);
  process.exitCode = thrown.exitCode;
}

function optionsOf(args) {
  const options = {
    'dry-run': { type: 'boolean' },
    once: { type: 'boolean' },
    // The default.
    twice: { type: 'boolean' },
    json: { type: 'string' },
    out: { type: 'string' },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options }));
  } catch (thrown) {
    throw new ReleaseError(`${thrown.message}\nusage: ${usage}`, 2);
  }
  if (values.once && values.twice) throw new ReleaseError(`--once and --twice exclude each other\nusage: ${usage}`, 2);
  if (!values['dry-run'])
    throw new ReleaseError(
      `only the workflow .github/workflows/release.yml publishes; expected --dry-run\nusage: ${usage}`,
      2,
    );
  // npm runs scripts in the folder of the project.
  const from = process.env.INIT_CWD ?? process.cwd();
  return {
    json: values.json === undefined ? undefined : resolve(from, values.json),
    out: resolve(from, values.out ?? join(root, '.release')),
    builds: values.once ? 1 : 2,
  };
}

function release({ json, out, builds }) {
  refuseChanges([json, out]);
  const commit = run('git', ['rev-parse', 'HEAD'], root).trim();
  const epoch = Number(run('git', ['log', '-1', '--format=%ct', commit], root));
  const work = mkdtempSync(join(tmpdir(), 'ledger-indexer-release-'));
  try {
    const base = baseOfImage(root, join(work, 'base'), epoch);
    report(base.layers === undefined ? `no image: ${base.reason}` : `base of the image: ${base.note}`);
    const folders = Array.from({ length: builds }, (_, index) => (index === 0 ? out : join(work, `again-${index}`)));
    for (const [index, folder] of folders.entries()) {
      report(`build ${index + 1} of ${builds}, commit ${commit.slice(0, 12)}`);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      buildRelease({ repository: root, source: join(work, `source-${index}`), out: folder, commit, epoch, base });
    }
    finish({ json, out, folders, commit, base });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The files are built from the commit, so a change that is not committed would be missing in them. */
function refuseChanges(ownPaths) {
  const own = ownPaths.filter((path) => path !== undefined).map((path) => relative(root, path));
  const changed = run('git', ['status', '--porcelain', '--untracked-files=all', '-z'], root)
    .split('\0')
    .filter(
      (entry) => entry !== '' && !own.some((path) => entry.slice(3) === path || entry.slice(3).startsWith(`${path}/`)),
    );
  if (changed.length === 0) return;
  const lines = changed.slice(0, 20).map((entry) => `  ${entry}`);
  const more = changed.length > 20 ? [`  and ${changed.length - 20} more`] : [];
  throw new ReleaseError(
    ['the work tree differs from the commit. Commit, stash or remove these files:', ...lines, ...more].join('\n'),
    78,
  );
}

function finish({ json, out, folders, commit, base }) {
  const artifacts = artifactsIn(out);
  const differences = folders.slice(1).flatMap((folder) => differencesOf(out, folder));
  const result = {
    version: JSON.parse(run('git', ['show', `${commit}:package.json`], root)).version,
    commit,
    artifacts: artifacts.map((artifact) => ({ ...artifact, path: join(out, artifact.name) })),
    // Not known after a single build.
    reproducible: folders.length === 1 ? null : differences.length === 0,
    differences,
    base_image: base.layers === undefined ? null : base.note,
    left_out: base.layers === undefined ? [{ name: 'container image', reason: base.reason }] : [],
  };
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`);
  for (const { name, bytes, sha256 } of artifacts)
    report(`${sha256.slice(0, 16)}…  ${String(bytes).padStart(10)}  ${name}`);
  if (differences.length > 0)
    throw new ReleaseError(
      `two builds of the same commit differ:\n${differences.map((line) => `  ${line}`).join('\n')}`,
      1,
    );
  if (folders.length > 1) report('both builds have the same bytes');
}

function report(line) {
  process.stderr.write(`release: ${line}\n`);
}
