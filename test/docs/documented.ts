/** The SQL statements on the pages. */
import { blocksOf, pages, type Page } from './pages.ts';

export interface DocumentedQuery {
  /** Path of the page. */
  readonly page: string;
  /** The bold text or the heading before the statement. */
  readonly title: string;
  readonly sql: string;
  /** Whether the page states that the statement returns rows on the demo. */
  readonly hasRows: boolean;
}

const queryPagePattern =
  /^docs\/(?:get-started\/first-queries|how-to\/query\/[\w-]+|reference\/(?:sql-schemas|pqs-functions))\.md$/;

/** The SQL blocks of all pages. A block on a page for operators may have several statements. */
export const sqlBlocks: readonly DocumentedQuery[] = pages().flatMap(queriesOf);

/** The statements on the pages for readers. */
export const documentedQueries: readonly DocumentedQuery[] = sqlBlocks.filter(({ page }) =>
  queryPagePattern.test(page),
);

/** Paths of the pages that contain documented queries. */
export const queryPages: readonly string[] = [...new Set(documentedQueries.map(({ page }) => page))];

/** The only statement whose title begins with this text. @throws Error if there is none or more than one */
export function documentedQuery(title: string): string {
  const [matchedQuery, ...otherQueries] = documentedQueries.filter((query) => query.title.startsWith(title));
  if (matchedQuery === undefined || otherQueries.length > 0)
    throw new Error(`expected one statement "${title}" in the pages`);
  return matchedQuery.sql;
}

function queriesOf(page: Page): readonly DocumentedQuery[] {
  const lines = page.text.split('\n');
  return blocksOf(page)
    .filter(({ language }) => language === 'sql')
    .map(({ line, text }) => {
      const precedingText = lines.slice(0, line - 1).join('\n');
      const title = [...precedingText.matchAll(/^\*\*(.+?)\*\*|^#+ (.+)$/gm)].at(-1);
      return {
        page: page.path,
        title: title?.[1] ?? title?.[2] ?? '',
        sql: text,
        hasRows: /<!-- has rows -->\s*$/.test(precedingText),
      };
    });
}
