/** The tree in docs/explanation/architecture.md contains every folder of src, and the imports follow its order. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/**
 * Folders in the order of the tree, relative to the project root. Modules begin at the start of a line, submodules are
 * indented.
 */
function drawnModules(): readonly string[] {
  const page = readFileSync(join(root, 'docs/explanation/architecture.md'), 'utf8');
  const tree = /```text\n(main\.ts[^]*?)```/.exec(page)?.[1] ?? '';
  let submodule = '';
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', names = ''] = /^( *)((?:[a-z-]+\/ *)+)/.exec(line) ?? [];
    if (names === '') return [];
    if (indent !== '') return [...names.matchAll(/[a-z-]+(?=\/)/g)].map(([name]) => join(submodule, name));
    const path = names.trim().replace(/\/$/, '');
    submodule = path.startsWith('packages/') ? `${path}/src` : `src/${path}`;
    return [submodule];
  });
}

const modules = [
  'src',
  'packages/page/src',
  'packages/codegen/src',
  'packages/lake/src',
  'packages/mcp/src',
  'packages/ledger-sandbox/src',
  'packages/embedded-postgres/src',
];

/** All folders inside the source folders, and the source folders of the packages, which are modules. */
function folders(): readonly string[] {
  return modules.flatMap((module) => {
    const modulePaths = readdirSync(join(root, module), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    return [
      ...(module === 'src' ? [] : [module]),
      ...modulePaths.map((entry) => relative(root, join(entry.parentPath, entry.name))),
    ];
  });
}

/** Imports, as pairs of the importing and the imported folder. */
function arrows(): readonly (readonly [string, string])[] {
  return modules.flatMap((module) => {
    const files = readdirSync(join(root, module), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    return files.flatMap((file) => {
      const from = dirname(join(module, file));
      return [...readFileSync(join(root, module, file), 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(
        ([, target = '']) => [from, dirname(join(from, target))] as const,
      );
    });
  });
}

/** Folders without their own line, which belong to the line of the folder above. */
const catalogueParts = [
  'src/observe/metrics/catalogue',
  ...['plans', 'market', 'registry', 'templates', 'packages'].map((name) => `packages/ledger-sandbox/src/demo/${name}`),
];

/** The folder in whose line the given folder is included. */
function drawnOf(path: string): string {
  return catalogueParts.includes(path) ? dirname(path) : path;
}

/** The module of a folder, for example `src/cli` for `src/cli/verify`. */
function roomOf(path: string): string {
  return modules.slice(1).find((module) => path.startsWith(module)) ?? path.split('/').slice(0, 2).join('/');
}

describe('the tree in docs/explanation/architecture.md', () => {
  it('lists exactly the folders of src', () => {
    expect([...drawnModules(), ...catalogueParts].toSorted()).toEqual([...folders()].toSorted());
  });

  it('orders the submodules of a module so that each imports only later submodules', () => {
    const positions = new Map(drawnModules().map((path, index) => [path, index]));
    const upwardArrows = arrows().filter(([from, to]) => {
      const [a, b] = [drawnOf(from), drawnOf(to)];
      // Files directly in a module may import its submodules. The submodules may not import them.
      return a !== b && roomOf(a) === roomOf(b) && (positions.get(a) ?? -1) > (positions.get(b) ?? -1);
    });
    expect(upwardArrows.map((pair) => pair.join(' -> '))).toEqual([]);
  });

  it('orders modules so that each imports only later modules', () => {
    const positions = new Map(drawnModules().map((path, index) => [path, index]));
    const upwardArrows = arrows().filter(([from, to]) => {
      const [a, b] = [roomOf(from), roomOf(to)];
      const [upperPosition, lowerPosition] = [positions.get(a), positions.get(b)];
      // Files directly in a source folder belong to no module.
      return upperPosition !== undefined && lowerPosition !== undefined && upperPosition > lowerPosition;
    });
    expect(upwardArrows.map((pair) => pair.join(' -> '))).toEqual([]);
  });

  it('has browser code that imports nothing of src but its public entry', () => {
    const folder = join(root, 'packages/page/src');
    const scripts = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));
    const imports = scripts.flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+|ledger-indexer[^']*)'/g)].map(
        ([, target = '']) => (target.startsWith('.') ? join('packages/page/src', dirname(file), target) : target),
      ),
    );
    expect(imports).toContain('ledger-indexer/page');
    expect(imports.filter((path) => !/^packages\/page\/src\/|^ledger-indexer\/page$/.test(path))).toEqual([]);
  });

  it('has no folder with more than 20 files', () => {
    const roots = [
      ...modules,
      'test',
      'packages/page/test',
      'packages/lake/test',
      'packages/mcp/test',
      'packages/ledger-sandbox/test',
      'packages/embedded-postgres/test',
      'bench',
      'scripts',
    ];
    const sizes = new Map<string, number>();
    for (const path of roots) {
      for (const entry of readdirSync(join(root, path), { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) sizes.set(entry.parentPath, (sizes.get(entry.parentPath) ?? 0) + 1);
      }
    }
    expect([...sizes].filter(([, files]) => files > 20).map(([path]) => relative(root, path))).toEqual([]);
  });
});
