/** All packages, the chart and the examples have the same version, and one command sets it. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../docs/pages.ts';

interface VersionFiles {
  readonly manifests: readonly string[];
  readonly lockFiles: Readonly<Record<string, readonly string[]>>;
  readonly mentions: Readonly<Record<string, string>>;
}

const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');
const { manifests, lockFiles, mentions } = JSON.parse(readFile('scripts/release/version-files.json')) as VersionFiles;
const versionFiles = [...manifests, ...Object.keys(lockFiles), ...Object.keys(mentions)];
const { version } = JSON.parse(readFile('package.json')) as { readonly version: string };

/** Runs the command on the files of a folder. */
function setVersion(folder: string, argument: string): { status: number | null; stdout: string; stderr: string } {
  const script = join(root, 'scripts/release/set-version.mjs');
  const env = { ...process.env, PROJECT_ROOT: folder };
  return spawnSync(process.execPath, [script, argument], { cwd: folder, env, encoding: 'utf8' });
}

function versionsIn(folder: string): readonly string[] {
  const { stdout, stderr } = setVersion(folder, '--list');
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('version of the project', () => {
  it('is the same in all files (update: npm run set-version)', () => {
    const found = versionsIn(root);
    expect(found.length).toBeGreaterThan(25);
    expect(found.filter((line) => !line.endsWith(` ${version}`))).toEqual([]);
  });

  it('is set in every package of the repository', () => {
    const packageFiles = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/package.json`);
    const expected = ['package.json', 'scripts/compile/package.json', ...packageFiles];
    expect(manifests.toSorted()).toEqual(expected.toSorted());
    const { packages } = JSON.parse(readFile('package-lock.json')) as { readonly packages: object };
    const ownEntries = Object.keys(packages).filter((path) => !path.includes('node_modules/'));
    expect(lockFiles['package-lock.json']?.toSorted()).toEqual(ownEntries.toSorted());
  });

  it('of a dependency is the same in all packages', () => {
    const versions = new Map<string, Set<string>>();
    for (const path of manifests) {
      const { dependencies, devDependencies } = JSON.parse(readFile(path)) as Readonly<Record<string, object>>;
      for (const [name, found] of Object.entries({ ...dependencies, ...devDependencies }) as [string, string][])
        versions.set(name, new Set([...(versions.get(name) ?? []), found]));
    }
    expect([...versions].filter(([, found]) => found.size > 1)).toEqual([]);
  });

  it('is set by one command, which leaves the rest of the files unchanged', () => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-version-'));
    try {
      for (const path of versionFiles) cpSync(join(root, path), join(folder, path));
      expect(setVersion(folder, '9.8.7-rc.1')).toMatchObject({ status: 0, stderr: '' });
      expect(versionsIn(folder).filter((line) => !line.endsWith(' 9.8.7-rc.1'))).toEqual([]);
      expect(setVersion(folder, version)).toMatchObject({ status: 0, stderr: '' });
      for (const path of versionFiles) expect(readFileSync(join(folder, path), 'utf8'), path).toBe(readFile(path));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is rejected if it is not a version', () => {
    const { status, stderr } = setVersion(root, '1.2');
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'set-version: expected a version such as 1.2.0, got "1.2"\n',
    });
  });

  it('is contained in no other page or example', () => {
    const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .map((path) => `docs/${path}`)
      .filter((path) => /\.(?:md|ya?ml|service)$/.test(path) && !path.startsWith('docs/decisions/'));
    const otherFiles = [...pages, 'README.md', 'CONTRIBUTING.md', 'docker-compose.yml', 'Dockerfile'].filter(
      (path) => !versionFiles.includes(path),
    );
    const pattern = /ledger-indexer[-a-z*]*[-:@]v?\d+\.\d+\.\d+/;
    expect(otherFiles.filter((path) => pattern.test(readFile(path)))).toEqual([]);
  });
});
