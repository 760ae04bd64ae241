/** Checks pages that users follow from top to bottom. They use nothing before it is created. */
import { expect, it } from 'vitest';
import { blocksOf, pages } from './pages.ts';

const made = /\bcreate schema (?:if not exists )?(\w+)/g;

it('documentation pages create each schema before its first use', () => {
  const early = pages().flatMap((page) => {
    const blocks = blocksOf(page).filter(({ language }) => ['sql', 'postgresql', 'js', 'ts', 'sh'].includes(language));
    return blocks.flatMap(({ text }, nth) =>
      [...text.matchAll(made)].flatMap(([, schema = '']) => {
        const uses = new RegExp(`\\b${schema}\\.`);
        const user = blocks.slice(0, nth).find((block) => uses.test(block.text));
        return user === undefined ? [] : [`${page.path}:${String(user.line)} uses ${schema} before it is made`];
      }),
    );
  });
  expect(early).toEqual([]);
});
