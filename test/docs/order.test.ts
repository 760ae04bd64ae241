/** Checks pages that users follow from top to bottom. They use nothing before it is created. */
import { expect, it } from 'vitest';
import { blocksOf, pages } from './pages.ts';

const schemaPattern = /\bcreate schema (?:if not exists )?(\w+)/g;

it('documentation pages create each schema before its first use', () => {
  const outOfOrder = pages().flatMap((page) => {
    const blocks = blocksOf(page).filter(({ language }) => ['sql', 'postgresql', 'js', 'ts', 'sh'].includes(language));
    return blocks.flatMap(({ text }, index) =>
      [...text.matchAll(schemaPattern)].flatMap(([, schema = '']) => {
        const usesPattern = new RegExp(`\\b${schema}\\.`);
        const user = blocks.slice(0, index).find((block) => usesPattern.test(block.text));
        return user === undefined ? [] : [`${page.path}:${String(user.line)} uses ${schema} before it is made`];
      }),
    );
  });
  expect(outOfOrder).toEqual([]);
});
