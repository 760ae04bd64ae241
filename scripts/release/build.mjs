// One build of all files of a release, in a clone of its own.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { artifactsIn, writeChecksums } from './checksums.mjs';
import { imageArchive } from './image.mjs';
import { installedPackages } from './lock.mjs';
import { provenance } from './provenance.mjs';
import { run } from './run.mjs';
import { sbom } from './sbom.mjs';
import { entriesOf, gzip, tar } from './tar.mjs';

const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
/** Published packages that are workspaces: their folders, as in the lock file. */
const workspaces = ['packages/embedded-postgres', 'packages/lake', 'packages/ledger-sandbox'];
const mcp = 'packages/mcp';

/**
 * @param repository the project's folder, which is cloned to `source`
 * @param out an empty folder for the files
 * @param epoch time of all files, seconds since 1970
 * @param base as baseOfImage() returns it
 */
export function buildRelease({ repository, source, out, commit, epoch, base }) {
  const env = { SOURCE_DATE_EPOCH: String(epoch), SOURCE_COMMIT: '', TZ: 'UTC', LC_ALL: 'C', NODE_ENV: '' };
  run('git', ['clone', '--quiet', '--no-hardlinks', '--no-checkout', repository, source], repository);
  run('git', ['checkout', '--quiet', '--detach', commit], source);
  run('npm', ['ci', '--omit=dev', ...quiet], source, env);
  run('npm', ['run', '--silent', 'build'], source, env);
  run('npm', ['ci', ...quiet], join(source, mcp), env);
  run('npm', ['run', '--silent', 'build'], join(source, mcp), env);
  const { version } = manifestOf(source, '.');
  packPackages(source, out, env);
  writeFileSync(join(out, `ledger-indexer-chart-${version}.tgz`), chart(source, epoch));
  if (base.layers !== undefined) writeImage({ source, out, base, commit, epoch, version });
  writeSboms({ source, out, base, commit, epoch });
  writeJson(join(out, `ledger-indexer-${version}.provenance.json`), statement({ source, out, base, commit, version }));
  writeChecksums(out);
}

function packPackages(source, out, env) {
  for (const folder of [...workspaces, mcp]) copyFileSync(join(source, 'LICENSE'), join(source, folder, 'LICENSE'));
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
  run('npm', pack, source, env);
  run('npm', [...pack, ...workspaces.flatMap((folder) => ['--workspace', folder])], source, env);
  run('npm', pack, join(source, mcp), env);
}

/** The chart as `helm package` writes it, except for times and owners. */
function chart(source, epoch) {
  return gzip(
    tar(
      entriesOf(join(source, 'docs/deploy/helm/ledger-indexer'), 'ledger-indexer/').filter(
        ({ kind }) => kind === 'file',
      ),
      epoch,
    ),
  );
}

function writeImage({ source, out, base, commit, epoch, version }) {
  const unpacked = join(source, '..', `program-${version}`, out.replaceAll('/', '-'));
  mkdirSync(unpacked, { recursive: true });
  run(
    'tar',
    ['--extract', '--gzip', '--file', join(out, `ledger-indexer-${version}.tgz`), '--directory', unpacked],
    source,
  );
  const archive = imageArchive({ source, program: join(unpacked, 'package'), base, commit, epoch, version });
  writeFileSync(join(out, `ledger-indexer-image-${version}-linux-${base.architecture}.tar`), archive);
}

/** One list for each package, and one for the image. */
function writeSboms({ source, out, base, commit, epoch }) {
  const lock = join(source, 'package-lock.json');
  const lists = [
    ['.', [...installedPackages(lock), bundledPackage(lock)], 'application'],
    ...workspaces.map((folder) => [folder, installedPackages(lock, folder), 'library']),
    [mcp, installedPackages(join(source, mcp, 'package-lock.json')), 'application'],
  ];
  for (const [folder, packages, type] of lists) {
    const { name, version } = manifestOf(source, folder);
    writeJson(join(out, `${name}-${version}.cdx.json`), sbom({ name, version, type, commit, epoch, packages }));
  }
  if (base.layers === undefined) return;
  const { name, version } = manifestOf(source, '.');
  const list = {
    name,
    version,
    type: 'container',
    commit,
    epoch,
    packages: [...installedPackages(lock, '', false), bundledPackage(lock)],
    others: base.packages,
  };
  writeJson(join(out, `${name}-image-${version}-linux-${base.architecture}.cdx.json`), sbom(list));
}

/** The package whose files the build copies next to the program (scripts/copy-library.mjs). */
function bundledPackage(lock) {
  return installedPackages(lock, 'scripts/compile').find(({ name }) => name === 'uplot');
}

function statement({ source, out, base, commit, version }) {
  const lock = join(source, 'package-lock.json');
  const used = ['', 'scripts/compile', ...workspaces].flatMap((entry) => installedPackages(lock, entry));
  const npmVersion = run('npm', ['--version'], source).trim();
  const packages = [...used, ...installedPackages(join(source, mcp, 'package-lock.json'))];
  return provenance({
    artifacts: artifactsIn(out),
    commit,
    version,
    base,
    packages,
    nodeVersion: process.versions.node,
    npmVersion,
  });
}

function manifestOf(source, folder) {
  return JSON.parse(readFileSync(join(source, folder, 'package.json'), 'utf8'));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
