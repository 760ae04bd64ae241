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
function pathOf(pathText: string): string | undefined {
  if (!/^[\w.-]+(?:\/[\w.-]+)*\/(?:[\w.-]+\.(?:ts|mjs|md|sql|json|ya?ml))?$/.test(pathText)) return undefined;
  const [first = ''] = pathText.split('/');
  if (roots.includes(first)) return pathText;
  // Only files are checked, because a folder name could belong to another module.
  return rooms.some(({ name }) => name === first) && pathText.endsWith('.ts') ? join('src', pathText) : undefined;
}

interface Text {
  readonly where: string;
  readonly text: string;
}

function comments(): readonly Text[] {
  return [
    'src',
    'packages/codegen/src',
    'packages/lake/src',
    'packages/mcp/src',
    'packages/ledger-sandbox/src',
    'packages/embedded-postgres/src',
  ].flatMap((module) =>
    readdirSync(join(root, module), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ where: join(module, file), text: readFileSync(join(root, module, file), 'utf8') })),
  );
}

it.each([
  ['documentation pages', pages().map(({ path }) => ({ where: path, text: readFileSync(join(root, path), 'utf8') }))],
  ['source comments', comments()],
])('paths named in %s exist', (_, texts: readonly Text[]) => {
  const pathMentions = texts.flatMap(({ where: location, text }) =>
    [...text.matchAll(/`([^`\s]+)`/g)].flatMap(([, pathText = '']) => {
      const path = pathOf(pathText);
      return path === undefined ? [] : [{ where: location, mention: pathText, path }];
    }),
  );
  expect(pathMentions.length).toBeGreaterThan(0);
  expect(
    pathMentions
      .filter(({ path }) => !existsSync(join(root, path)))
      .map(({ where: location, mention: pathText }) => `${location}: ${pathText}`),
  ).toEqual([]);
});
