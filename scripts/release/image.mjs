// The container image as one archive, which `docker load` and programs for OCI layouts read. It has the contents and the
// settings that the Dockerfile describes, but is written without an engine, so that its bytes are always the same.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './checksums.mjs';
import { installedPackages } from './lock.mjs';
import { entriesOf, gzip, tar } from './tar.mjs';

const account = 65532;

/**
 * @param source the clone, with installed packages
 * @param program folder with the unpacked npm package
 */
export function imageArchive({ source, program, base, commit, epoch, version }) {
  const layers = [...base.layers, tar(programEntries(source, program), epoch)].map((layer) => ({
    diffId: `sha256:${sha256(layer)}`,
    blob: blobOf('application/vnd.oci.image.layer.v1.tar+gzip', gzip(layer)),
  }));
  const config = blobOf(
    'application/vnd.oci.image.config.v1+json',
    json(imageConfig({ source, base, commit, epoch, layers })),
  );
  const manifest = blobOf(
    'application/vnd.oci.image.manifest.v1+json',
    json({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: descriptor(config),
      layers: layers.map(({ blob }) => descriptor(blob)),
    }),
  );
  const reference = `ledger-indexer:${version}`;
  const annotations = { 'org.opencontainers.image.ref.name': version };
  const index = { schemaVersion: 2, manifests: [{ ...descriptor(manifest), annotations }] };
  const forDocker = [{ Config: config.path, RepoTags: [reference], Layers: layers.map(({ blob }) => blob.path) }];
  const blobs = new Map([...layers.map(({ blob }) => blob), config, manifest].map((blob) => [blob.path, blob.bytes]));
  const files = [
    ['oci-layout', json({ imageLayoutVersion: '1.0.0' })],
    ['index.json', json(index)],
    ['manifest.json', json(forDocker)],
    ...blobs,
  ];
  return tar(
    files.map(([name, bytes]) => ({ name, kind: 'file', mode: 0o644, bytes })),
    epoch,
  );
}

/** The last layer: the program with its run-time packages, a link for `docker exec`, and the folder for data. */
function programEntries(source, program) {
  const packages = installedPackages(join(source, 'package-lock.json'), '', false);
  const nested = new Set(packages.map(({ path }) => join(source, path)));
  const modules = packages.flatMap(({ path }) => [
    { name: `app/${path}/`, kind: 'folder', mode: 0o755 },
    ...entriesOf(join(source, path), `app/${path}/`, (file) => !nested.has(file) && !file.endsWith('/node_modules')),
  ]);
  return [
    { name: 'app/', kind: 'folder', mode: 0o755 },
    { name: 'app/node_modules/', kind: 'folder', mode: 0o755 },
    ...entriesOf(program, 'app/'),
    ...modules,
    { name: 'data/', kind: 'folder', mode: 0o755, owner: account },
    { name: 'usr/local/bin/ledger-indexer', kind: 'link', mode: 0o777, target: '/app/dist/main.js' },
  ];
}

function imageConfig({ source, base, commit, epoch, layers }) {
  const dockerfile = readFileSync(join(source, 'Dockerfile'), 'utf8');
  const { Env: env, ...settings } = settingsOf(dockerfile, { SOURCE_COMMIT: commit.slice(0, 12) });
  const created = new Date(epoch * 1000).toISOString();
  return {
    created,
    architecture: base.architecture,
    os: 'linux',
    config: { ...settings, Env: [...base.env, ...env] },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map((_, index) => ({
      created,
      created_by: index === layers.length - 1 ? 'ledger-indexer' : 'base image',
    })),
  };
}

const seconds = 1_000_000_000;

/** The settings of the last stage of a Dockerfile. @throws Error at an instruction that is not translated */
export function settingsOf(dockerfile, values) {
  const stage =
    dockerfile
      .replaceAll(/^#.*\n/gm, '')
      .replaceAll(/\\\n\s*/g, '')
      .split(/^FROM .*$/m)
      .at(-1) ?? '';
  const settings = { Env: [] };
  for (const line of stage.split('\n').filter((text) => text !== '')) {
    const [, instruction = '', raw = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const text = raw.replaceAll(/\$\{(\w+)\}/g, (found, name) => values[name] ?? found);
    const pairs = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, name, quoted, plain]) => [
      name,
      quoted ?? plain,
    ]);
    if (instruction === 'LABEL') settings.Labels = Object.fromEntries(pairs);
    else if (instruction === 'ENV') settings.Env = pairs.map((pair) => pair.join('='));
    else if (instruction === 'WORKDIR') settings.WorkingDir = text;
    else if (instruction === 'USER') settings.User = text;
    else if (instruction === 'EXPOSE') settings.ExposedPorts = { [`${text}/tcp`]: {} };
    else if (instruction === 'STOPSIGNAL') settings.StopSignal = text;
    else if (instruction === 'ENTRYPOINT') settings.Entrypoint = JSON.parse(text);
    else if (instruction === 'CMD') settings.Cmd = JSON.parse(text);
    else if (instruction === 'HEALTHCHECK') settings.Healthcheck = healthcheckOf(raw);
    else if (!/^(?:ARG|COPY)$/.test(instruction))
      throw new Error(`Dockerfile: ${line} is not translated for the image of a release`);
  }
  return settings;
}

function healthcheckOf(text) {
  const duration = (name) => Number(new RegExp(`--${name}=(\\d+)s`).exec(text)?.[1]) * seconds;
  return {
    Test: ['CMD', ...JSON.parse(text.slice(text.indexOf('CMD [') + 4))],
    Interval: duration('interval'),
    Timeout: duration('timeout'),
    StartPeriod: duration('start-period'),
    Retries: Number(/--retries=(\d+)/.exec(text)?.[1]),
  };
}

function blobOf(mediaType, bytes) {
  const digest = sha256(bytes);
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length, path: `blobs/sha256/${digest}`, bytes };
}

function descriptor({ mediaType, digest, size }) {
  return { mediaType, digest, size };
}

function json(value) {
  return Buffer.from(JSON.stringify(value));
}
