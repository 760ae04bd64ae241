/**
 * The setup before `npm start` and `npm test` in a clone. Some tests use a fake npm, which records its arguments and
 * writes the same files as npm. Other tests run npm itself with the lock file.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const project = join(import.meta.dirname, '../..');
const packages = ['embedded-postgres', 'lake', 'ledger-sandbox'].map((name) => `packages/${name}/package.json`);
/** Files that npm reads. */
const manifests = ['package.json', 'package-lock.json', 'scripts/compile', ...packages];
/** Packages that `npm start` may install, on any platform. */
const mostPackages = 57;

const lock = {
  packages: {
    '': { dependencies: { runs: '1' }, devDependencies: { tests: '1' } },
    'scripts/compile': { dependencies: { compiles: '1' } },
    'node_modules/runs': { version: '1' },
    'node_modules/compiles': { version: '1' },
    'node_modules/tests': { version: '1', dev: true },
  },
};

/** A fake npm. It leaves the files of npm: packages, their list as the last file, and a compiled program. */
const nodeStandIn = `const fs = require('node:fs');
const words = process.argv.slice(2);
fs.appendFileSync('npm.log', words.join(' ') + '\\n');
if (words.includes('build')) {
  fs.mkdirSync('dist', { recursive: true });
  fs.writeFileSync('dist/main.js', '');
  if (process.env.INTERRUPTED) process.exit(1);
  fs.writeFileSync('dist/commit', '');
} else {
  if (words[0] === 'ci') fs.rmSync('node_modules', { recursive: true, force: true });
  const all = Object.entries(JSON.parse(fs.readFileSync('package-lock.json', 'utf8')).packages);
  const wanted = all.filter(([path, { dev }]) => path.startsWith('node_modules') && !(dev && words.includes('--omit=dev')));
  for (const [path] of wanted) fs.mkdirSync(path, { recursive: true });
  if (process.env.INTERRUPTED) process.exit(1);
  fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(wanted) }));
}
`;

let clone: string;
beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'ledger-indexer-setup-'));
  await mkdir(join(clone, 'src'));
  await mkdir(join(clone, 'scripts'));
  await cp(join(project, 'scripts/setup.mjs'), join(clone, 'scripts/setup.mjs'));
  await writeFile(join(clone, 'npm.cjs'), nodeStandIn);
  await lockWith({});
});
afterEach(() => rm(clone, { recursive: true }));

async function lockWith(overrides: object): Promise<void> {
  await writeFile(join(clone, 'package-lock.json'), JSON.stringify({ packages: { ...lock.packages, ...overrides } }));
}

/** Runs the setup before a start or before tests. @returns the npm commands that it ran */
async function runNpmBefore(
  npmCommand: 'start' | 'test',
  extraEnv: NodeJS.ProcessEnv = {},
): Promise<readonly string[]> {
  await writeFile(join(clone, 'npm.log'), '');
  const env = { ...process.env, npm_execpath: join(clone, 'npm.cjs'), ...extraEnv };
  const args = [join(clone, 'scripts/setup.mjs'), ...(npmCommand === 'start' ? ['start'] : [])];
  spawnSync(process.execPath, args, { cwd: clone, env, encoding: 'utf8' });
  const npmLog = await readFile(join(clone, 'npm.log'), 'utf8');
  return npmLog.split('\n').filter((line) => line !== '');
}

const build = 'run --silent build';
const npmQuietFlags = '--ignore-scripts --no-audit --no-fund';

it('setup before a start installs the runtime and build packages only once', async () => {
  expect(await runNpmBefore('start')).toEqual([`ci ${npmQuietFlags} --omit=dev`, build]);
  expect(await runNpmBefore('start')).toEqual([]);
});

it('setup before tests adds only the test packages, and the next setup keeps all packages', async () => {
  await runNpmBefore('start');
  expect(await runNpmBefore('test')).toEqual([`install --no-save ${npmQuietFlags} --include=dev`]);
  expect(await runNpmBefore('start')).toEqual([]);
  expect(await runNpmBefore('test')).toEqual([]);
});

it('setup before tests installs all packages even if NODE_ENV is production', async () => {
  expect(await runNpmBefore('test', { NODE_ENV: 'production' })).toEqual([`ci ${npmQuietFlags} --include=dev`, build]);
  expect(await runNpmBefore('start', { NODE_ENV: 'production' })).toEqual([]);
});

it('setup repeats an interrupted installation or build', async () => {
  await runNpmBefore('start', { INTERRUPTED: '1' });
  expect(await runNpmBefore('start')).toEqual([`ci ${npmQuietFlags} --omit=dev`, build]);
  await runNpmBefore('test', { INTERRUPTED: '1' });
  expect(await runNpmBefore('test')).toEqual([`install --no-save ${npmQuietFlags} --include=dev`]);
  await rm(join(clone, 'dist'), { recursive: true });
  await runNpmBefore('start', { INTERRUPTED: '1' });
  expect(await runNpmBefore('start')).toEqual([build]);
});

it('setup installs again after a lock file change and builds again after a source change', async () => {
  await runNpmBefore('test');
  await lockWith({ 'node_modules/runs': { version: '2' } });
  expect(await runNpmBefore('start')).toEqual([`ci ${npmQuietFlags} --include=dev`]);
  const laterSeconds = Date.now() / 1000 + 10;
  await utimes(join(clone, 'src'), laterSeconds, laterSeconds);
  expect(await runNpmBefore('start')).toEqual([build]);
});

it(`npm ci before a start installs fewer than ${String(mostPackages)} packages`, async () => {
  for (const name of manifests) await cp(join(project, name), join(clone, name), { recursive: true });
  const { status, stdout, stderr } = npm(
    'ci',
    '--omit=dev',
    '--dry-run',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  );
  expect(status, stderr).toBe(0);
  const [, packages = ''] = /added (\d+) packages/.exec(stdout) ?? [];
  expect(Number(packages), stdout).toBeGreaterThan(10);
  expect(Number(packages)).toBeLessThan(mostPackages);
});

it('npm run sbom lists runtime, build and test packages', async () => {
  for (const name of manifests) await cp(join(project, name), join(clone, name), { recursive: true });
  const npmScripts = npm('run', '--silent', 'sbom');
  expect(npmScripts.status, npmScripts.stderr).toBe(0);
  const { components } = JSON.parse(npmScripts.stdout) as { readonly components: readonly { readonly name: string }[] };
  const names = components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['pg', 'typescript', 'vitest']));
});

function npm(...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync('npm', args, { cwd: clone, encoding: 'utf8', timeout: 50_000 });
}

it.each([
  {
    node: '18.20.8',
    platform: 'linux',
    says: /^ledger-indexer: this is Node 18\.20\.8, and Node 20\.19 or newer is needed: .+\n$/,
  },
  { node: '20.18.3', platform: 'linux', says: /^ledger-indexer: this is Node 20\.18\.3, and .+\n$/ },
  { node: '24.1.0', platform: 'win32', says: /^ledger-indexer: it runs on Linux and macOS, not on Windows: .+\n$/ },
])('setup and program reject Node $node on $platform with one sentence', async ({ node, platform, says }) => {
  const pretense = join(clone, 'pretense.cjs');
  const values = { versions: { ...process.versions, node }, platform };
  await writeFile(
    pretense,
    `for (const [name, value] of Object.entries(${JSON.stringify(values)})) Object.defineProperty(process, name, { value });`,
  );
  const { prestart, pretest } = (JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as Manifest).scripts;
  for (const command of [prestart, pretest, 'node dist/main.js --version']) {
    const args = ['--require', pretense, ...command.split(' ').slice(1)];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
    expect([status, stdout], command).toEqual([78, '']);
    expect(stderr).toMatch(says);
  }
});

interface Manifest {
  readonly scripts: { readonly prestart: string; readonly pretest: string };
}
