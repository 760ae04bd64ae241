/** The workflow of a release runs only commands of the project, and publishes only files of `npm run release`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../docs/pages.ts';

interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  readonly 'timeout-minutes'?: number;
}
interface Workflow {
  readonly on: { readonly push: { readonly tags: readonly string[] } };
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');
const workflow = parse(readFile('.github/workflows/release.yml')) as Workflow;
const { jobs } = workflow;
const steps = Object.values(jobs).flatMap((job) => job.steps);
const commandText = steps.map(({ run = '' }) => run).join('\n');

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
}
const manifestOf = (folder: string): Manifest => JSON.parse(readFile(join(folder, 'package.json'))) as Manifest;
const published = ['.', 'packages/embedded-postgres', 'packages/lake', 'packages/ledger-sandbox', 'packages/mcp'];

describe('release workflow', () => {
  it('runs only npm scripts that exist', () => {
    const { scripts = {} } = manifestOf('.');
    const names = [...commandText.matchAll(/\bnpm run (?:--silent |-s )?([\w:-]+)/g)].map(([, name = '']) => name);
    expect(names).toEqual(expect.arrayContaining(['check', 'interface', 'release']));
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
    expect(commandText).toMatch(/^npm test$/m);
  });

  it('names only files of the project that exist', () => {
    const paths = [...commandText.matchAll(/(?<![\w./-])(?:test|scripts|docs|\.ci)\/[\w./-]+/g)].map(([path]) => path);
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('begins with a tag, and checks before it builds and builds before it publishes', () => {
    expect(workflow.on.push.tags).toEqual(['v*']);
    expect([jobs['build']?.needs, jobs['publish']?.needs]).toEqual(['check', 'build']);
    const writers = Object.entries(jobs).filter(([, { permissions = {} }]) => permissions['contents'] === 'write');
    expect(writers.map(([name]) => name)).toEqual(['publish']);
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  it('uses actions in a fixed version', () => {
    const actions = steps.flatMap(({ uses }) => (uses === undefined ? [] : [uses]));
    expect(actions.length).toBeGreaterThan(5);
    for (const action of actions) expect(action).toMatch(/^actions\/[\w-]+@(?:v\d+|[0-9a-f]{40})$/);
  });

  it('publishes exactly the packages that are not private', () => {
    const [, list = ''] = /for name in ([\w -]+); do\n\s*npm publish/.exec(commandText) ?? [];
    expect(list.split(' ').toSorted()).toEqual(published.map((folder) => manifestOf(folder).name).toSorted());
    expect(published.filter((folder) => manifestOf(folder).private === true)).toEqual([]);
    const others = ['packages/codegen', 'packages/page', 'scripts/compile'];
    expect(others.filter((folder) => manifestOf(folder).private !== true)).toEqual([]);
  });

  it('is the only way to publish a folder of the project', () => {
    for (const folder of published) {
      const { scripts = {} } = manifestOf(folder);
      expect(scripts['prepublishOnly'], folder).toMatch(/refuse-publish\.mjs$/);
    }
    expect(commandText).toMatch(/npm publish --provenance --access public "\.\/release\/\$name-\$version\.tgz"/);
  });
});
