/**
 * Builds a release from a clone of the current commit, and uses its files as a user does: checks the checksums, installs
 * the packages, runs the program of the image, and compares the lists of components with what is installed.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { helmInstallCommand, isHelmInstalled } from '../../scripts/chart/helm.ts';
import { root } from '../docs/pages.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import {
  ReleaseFolder,
  releaseSkipReason,
  run,
  runConcurrently,
  version,
  type Bom,
  type Component,
  type Release,
} from './built-release.ts';

const skipReason = releaseSkipReason();
const main = `ledger-indexer-${version}.tgz`;

let built: ReleaseFolder;
let release: Release;
beforeAll(() => {
  if (skipReason !== undefined) return;
  built = new ReleaseFolder();
  const { status, stderr } = built.release('--dry-run', '--json', 'release.json', '--out', built.out);
  expect(status, stderr).toBe(0);
  release = JSON.parse(readFileSync(join(built.clone, 'release.json'), 'utf8')) as Release;
}, 1_800_000);
afterAll(() => built?.[Symbol.dispose]());

describe('npm run release', needs(skipReason), () => {
  it('builds the same bytes twice, and lists all files with their checksums', () => {
    expect(release).toMatchObject({ version, reproducible: true, differences: [] });
    const listed = release.artifacts.map(({ name }) => name);
    const packages = ['', '-lake', '-mcp', '-postgres', '-sandbox', '-chart'];
    expect(listed).toEqual(expect.arrayContaining(packages.map((part) => `ledger-indexer${part}-${version}.tgz`)));
    for (const { path, bytes, sha256 } of release.artifacts) {
      const content = readFileSync(path);
      expect([content.length, createHash('sha256').update(content).digest('hex')], path).toEqual([bytes, sha256]);
    }
    const checked = run('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], built.out);
    expect(checked).toMatchObject({ status: 0, stdout: '' });
    const summed = readFileSync(join(built.out, 'SHA256SUMS'), 'utf8').trim().split('\n');
    expect(summed.map((line) => line.replace(/^\w+ {2}/, ''))).toEqual(listed.filter((name) => name !== 'SHA256SUMS'));
  });

  it('builds the files that the page on deployment names', () => {
    const page = readFileSync(join(root, 'docs/deploy/README.md'), 'utf8');
    const named = new Set([...page.matchAll(/ledger-indexer-[a-z\d.-]+\.(?:tgz|tar|json)/g)].map(([name]) => name));
    expect(named.size).toBeGreaterThan(4);
    const listed = release.artifacts.map(({ name }) => name);
    const missing = [...named].filter((name) => !listed.includes(name));
    const hasImage = listed.some((name) => name.endsWith('-linux-amd64.tar'));
    expect(missing.filter((name) => hasImage || !name.includes('-image-'))).toEqual([]);
  });

  it('states the commit, the files and the dependencies in the provenance statement', () => {
    const { subject, predicate } = built.json(`ledger-indexer-${version}.provenance.json`) as Statement;
    const files = release.artifacts.filter(({ name }) => !/^SHA256SUMS$|provenance/.test(name));
    expect(subject).toEqual(files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })));
    const [repository, ...packages] = predicate.buildDefinition.resolvedDependencies;
    const commit = run('git', ['rev-parse', 'HEAD'], root).stdout.trim();
    expect([release.commit, repository?.digest]).toEqual([commit, { gitCommit: commit }]);
    const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
    const purls = ['pg', 'typescript', 'fflate'].map(
      (name) => `pkg:npm/${name}@${locked[`node_modules/${name}`]?.version ?? ''}`,
    );
    expect(packages.map(({ uri }) => uri)).toEqual(expect.arrayContaining(purls));
  });

  it('finds a file that differs between two folders', () => {
    const other = join(built.folder, 'other');
    cpSync(built.out, other, { recursive: true });
    appendFileSync(join(other, main), 'x');
    const script = `import('./scripts/release/checksums.mjs').then(({ differencesOf }) =>
      process.stdout.write(differencesOf(process.argv[1], process.argv[2]).join()))`;
    const { stdout } = run('node', ['--eval', script, built.out, other], built.clone);
    expect(stdout).toMatch(new RegExp(String.raw`^${main}: \w{64} and \w{64}$`));
  });

  it('refuses changes that are not committed, and to publish', () => {
    appendFileSync(join(built.clone, 'README.md'), 'change\n');
    writeFileSync(join(built.clone, 'src/new.ts'), '');
    const { status, stderr } = built.release('--dry-run', '--json', 'release.json');
    expect(status).toBe(78);
    expect(stderr).toMatch(/differs from the commit[^]* M README\.md\n[^]*\?\? src\/new\.ts/);
    expect(stderr).not.toContain('release.json');
    const refused = expect.stringContaining('expected --dry-run') as string;
    expect(built.release()).toMatchObject({ status: 2, stderr: refused });
    expect(run('npm', ['publish', '--dry-run'], join(built.clone, 'packages/lake')).status).not.toBe(0);
  });
});

interface Statement {
  readonly subject: readonly object[];
  readonly predicate: {
    readonly buildDefinition: {
      readonly resolvedDependencies: readonly { readonly uri: string; readonly digest: object }[];
    };
  };
}
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

/** Names of the packages in a folder, except those of the project. */
function installedNames(target: string): readonly string[] {
  const lock = JSON.parse(readFileSync(join(target, 'node_modules/.package-lock.json'), 'utf8')) as Lock;
  const names = Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, ''));
  return names.filter((name) => !name.startsWith('ledger-indexer')).toSorted();
}

function componentNames(file: string): readonly string[] {
  return (built.json(file) as Bom).components.map(({ name }) => name).toSorted();
}

describe('packages of a release', needs(skipReason), () => {
  it('have the listed components, and at most 40 packages and 40 MB', () => {
    const target = built.install('command', main);
    // The files of uplot are in the package itself.
    const names = [...installedNames(target), 'uplot'].toSorted();
    expect(names).toEqual(componentNames(`ledger-indexer-${version}.cdx.json`));
    const listed = run('npm', ['ls', '--all', '--parseable'], target).stdout.trim().split('\n');
    const kilobytes = Number(run('du', ['-sk', 'node_modules'], target).stdout.split('\t')[0]);
    process.stdout.write(`installed: ${String(listed.length)} lines of npm ls, ${String(kilobytes)} kB on disk\n`);
    expect(listed.length).toBeLessThanOrEqual(40);
    expect(kilobytes).toBeLessThanOrEqual(40_000);
  });

  it('contain a program that runs, also by npx without an installation', async () => {
    const program = join(built.folder, 'command/node_modules/.bin/ledger-indexer');
    expect(run(program, ['--version'], built.folder).stdout).toBe(`${version}\n`);
    const byNpx = ['--yes', '--prefer-offline', '--package', join(built.out, main), 'ledger-indexer', '--version'];
    expect(run('npx', byNpx, built.folder).stdout).toBe(`${version}\n`);
    await using ledger = await startSandbox();
    generateHistory(ledger.ledger, { seed: 1, updates: 40 });
    await using database = await createTestDatabase();
    const env = { LEDGER_URL: ledger.url, DATABASE_URL: database.url, INDEXER_HTTP_PORT: '0' };
    expect(await runConcurrently(program, ['check'], env)).toMatchObject({ code: 0 });
    expect(await runConcurrently(program, ['backfill', '--to', 'end'], env)).toMatchObject({ code: 0 });
    const [row] = await query(database.url, 'select checkpoint::int as checkpoint from ledger.stream');
    expect(row).toEqual({ checkpoint: ledger.ledger.ledgerEnd() });
  });

  it('contain the library of the query page, which is not installed', () => {
    const target = join(built.folder, 'command');
    const file = join(target, 'node_modules/ledger-indexer/dist/observe/page/console-page.js');
    const script = `import(process.argv[1]).then(({ ConsolePage }) => new ConsolePage({}).answerPage(
      { writeHead: () => undefined, end: (html) => process.stdout.write(String(html.includes('uPlot=function'))) }))`;
    expect(run('node', ['--eval', script, file], target)).toMatchObject({ stdout: 'true', stderr: '' });
  });

  it.each([['lake'], ['mcp'], ['sandbox']])('%s has the listed components', (part) => {
    const target = built.install(part, `ledger-indexer-${part}-${version}.tgz`);
    expect(installedNames(target)).toEqual(componentNames(`ledger-indexer-${part}-${version}.cdx.json`));
    expect(readdirSync(join(target, `node_modules/ledger-indexer-${part}`))).toContain('LICENSE');
  });
});

describe('chart of a release', needs(skipReason), () => {
  it(
    'renders to the plain YAML file',
    needs(isHelmInstalled() ? undefined : `needs helm 3 (${helmInstallCommand})`),
    () => {
      const chart = join(built.out, `ledger-indexer-chart-${version}.tgz`);
      const values = join(root, 'docs/deploy/helm/plain.values.yaml');
      const args = ['template', 'ledger-indexer', chart, '--kube-version', '1.37.0', '--values', values];
      const { status, stdout, stderr } = run(process.env['HELM'] ?? 'helm', args, built.folder);
      expect(status, stderr).toBe(0);
      const plainFile = readFileSync(join(root, 'docs/deploy/kubernetes.yaml'), 'utf8');
      expect(plainFile.replaceAll(/^#.*\n/gm, '')).toBe(stdout.replaceAll(/^#.*\n/gm, ''));
    },
  );
});

const imageFile = (ending: string): string | undefined =>
  readdirSync(built.out).find((name) => name.includes('-image-') && name.endsWith(ending));

interface ImageConfig {
  readonly config: { readonly User: string; readonly Entrypoint: readonly string[]; readonly Healthcheck: object };
}

/** Unpacks the image into a folder of its own. Resolves to its root folder and its settings. */
function unpackImage(file: string): { readonly rootFolder: string; readonly settings: ImageConfig['config'] } {
  const [archive, rootFolder] = ['image', 'root'].map((name) => join(built.folder, name)) as [string, string];
  for (const folder of [archive, rootFolder]) mkdirSync(folder);
  expect(run('tar', ['-xf', join(built.out, file)], archive).status).toBe(0);
  const [{ Config: config, Layers: layers }] = JSON.parse(readFileSync(join(archive, 'manifest.json'), 'utf8')) as [
    { readonly Config: string; readonly Layers: readonly string[] },
  ];
  for (const layer of layers) expect(run('tar', ['-xzf', join(archive, layer)], rootFolder).status).toBe(0);
  const { config: settings } = JSON.parse(readFileSync(join(archive, config), 'utf8')) as ImageConfig;
  return { rootFolder, settings };
}

describe('image of a release', needs(skipReason), () => {
  let image: ReturnType<typeof unpackImage> | undefined;
  beforeAll(() => {
    const file = skipReason === undefined ? imageFile('.tar') : undefined;
    image = file === undefined ? undefined : unpackImage(file);
  });
  const unavailableReason = (): string => `needs a base of the image: ${release.left_out[0]?.reason ?? ''}`;

  it('has the listed packages, and at most 25 MB more than its base', ({ skip }) => {
    skip(image === undefined, unavailableReason());
    const app = join(image?.rootFolder ?? '', 'app');
    const installed = readdirSync(join(app, 'node_modules'), { recursive: true, encoding: 'utf8' })
      .filter((path) => /^(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
      .map((path) => JSON.parse(readFileSync(join(app, 'node_modules', path), 'utf8')) as Component)
      .map(({ name, version: found = '' }) => `${name}@${found}`);
    const { components } = built.json(imageFile('.cdx.json') ?? '') as Bom;
    const listed = components
      .filter(({ name, purl }) => purl.startsWith('pkg:npm/') && !['node', 'uplot'].includes(name))
      .map(({ name, version: found = '' }) => `${name}@${found}`);
    expect(listed.toSorted()).toEqual(installed.toSorted());
    const bytes = readdirSync(app, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
    process.stdout.write(`image: ${(bytes / 1e6).toFixed(1)} MB over its base (${release.base_image ?? ''})\n`);
    expect(bytes).toBeLessThan(25_000_000);
  });

  it('runs as another user', needs(process.getuid?.() === 0 ? undefined : 'needs root'), ({ skip }) => {
    skip(image === undefined, unavailableReason());
    const { rootFolder = '', settings } = image ?? {};
    expect(settings).toMatchObject({ User: '65532:65532', Healthcheck: { Retries: 3 } });
    const [node = '', ...args] = settings?.Entrypoint ?? [];
    const command = [`--userspec=${settings?.User ?? ''}`, rootFolder, `/usr/local/bin/${node}`, ...args, '--version'];
    const { stdout, stderr } = run('chroot', command, built.folder);
    expect([stdout, stderr]).toEqual([`${version}\n`, '']);
  });
});
