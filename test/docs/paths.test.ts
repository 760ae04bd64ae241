/** Paths in pages and in comments of the sources exist. Otherwise a comment could name a file that was deleted. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pages, root } from './pages.ts';

const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
const roots = ['src', 'test', 'scripts', 'packages', 'bench', 'docs', 'grafana', '.ci'];

/**
 * A path relative to the project root; paths that begin with a module are relative to `src`. Undefined for other texts.
 */
function pathOf(mention: string): string | undefined {
  if (!/^[\w.-]+(?:\/[\w.-]+)*\/(?:[\w.-]+\.(?:ts|mjs|md|sql|json|ya?ml))?$/.test(mention)) return undefined;
  const [first = ''] = mention.split('/');
  if (roots.includes(first)) return mention;
  // Only files are checked, because a folder name could belong to another module.
  return rooms.some(({ name }) => name === first) && mention.endsWith('.ts') ? join('src', mention) : undefined;
}

interface Text {
  readonly where: string;
  readonly text: string;
}

function comments(): readonly Text[] {
  return ['src', 'packages/lake/src', 'packages/ledger-sandbox/src', 'packages/embedded-postgres/src'].flatMap(
    (house) =>
      readdirSync(join(root, house), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => ({ where: join(house, file), text: readFileSync(join(root, house, file), 'utf8') })),
  );
}

it.each([
  ['documentation pages', pages().map(({ path }) => ({ where: path, text: readFileSync(join(root, path), 'utf8') }))],
  ['source comments', comments()],
])('paths named in %s exist', (_, texts: readonly Text[]) => {
  const named = texts.flatMap(({ where, text }) =>
    [...text.matchAll(/`([^`\s]+)`/g)].flatMap(([, mention = '']) => {
      const path = pathOf(mention);
      return path === undefined ? [] : [{ where, mention, path }];
    }),
  );
  expect(named.length).toBeGreaterThan(0);
  expect(
    named.filter(({ path }) => !existsSync(join(root, path))).map(({ where, mention }) => `${where}: ${mention}`),
  ).toEqual([]);
});
