/** Builds a release in a clone of the project, for tests of its files. */
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../docs/pages.ts';

export interface Release {
  readonly version: string;
  readonly commit: string;
  readonly artifacts: readonly {
    readonly name: string;
    readonly path: string;
    readonly bytes: number;
    readonly sha256: string;
  }[];
  readonly reproducible: boolean | null;
  readonly differences: readonly string[];
  readonly base_image: string | null;
  readonly left_out: readonly { readonly name: string; readonly reason: string }[];
}

export interface Component {
  readonly name: string;
  readonly version?: string;
  readonly purl: string;
}

/** A list of components in CycloneDX format. */
export interface Bom {
  readonly serialNumber: string;
  readonly components: readonly Component[];
}

export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

/** The reason why no release can be built; undefined if it can. */
export function releaseSkipReason(): string | undefined {
  if (!existsSync(join(root, '.git'))) return 'needs the repository of the project';
  const { status } = run('npm', ['view', 'pg', 'version', '--fetch-timeout=20000', '--fetch-retries=0'], root);
  return status === 0 ? undefined : 'needs a registry of packages';
}

export function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): SpawnSyncReturns<string> {
  return spawnSync(program, args, { cwd, env: { ...process.env, ...env }, encoding: 'utf8', timeout: 900_000 });
}

/** Runs a program to its end without blocking this process, in which its ledger runs. */
export function runConcurrently(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(program, args, { env: { PATH, HOME, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

export class ReleaseFolder implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-release-test-'));
  /** A clone of the current commit; changes that are not committed are not in it. */
  readonly clone = join(this.folder, 'clone');
  readonly out = join(this.folder, 'out');

  constructor() {
    const { status, stderr } = run('git', ['clone', '--quiet', root, this.clone], this.folder);
    if (status !== 0) throw new Error(stderr);
  }

  release(...args: readonly string[]): SpawnSyncReturns<string> {
    return run('node', ['scripts/release/main.mjs', ...args], this.clone, { INIT_CWD: this.clone });
  }

  /** Contents of a JSON file of the release. */
  json(name: string): unknown {
    return JSON.parse(readFileSync(join(this.out, name), 'utf8'));
  }

  /** Installs packages of the release into an empty folder. Resolves to its path. */
  install(name: string, ...files: readonly string[]): string {
    const target = join(this.folder, name);
    mkdirSync(target);
    writeFileSync(join(target, 'package.json'), '{"private":true}');
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
    const paths = files.map((file) => join(this.out, file));
    const { status, stderr } = run('npm', ['install', ...flags, ...paths], target);
    if (status !== 0) throw new Error(stderr);
    return target;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
