/** The SQL statements on the pages of the documentation. */
import { documentedQueries, sqlBlocks, type DocumentedQuery } from '../../../test/docs/documented.ts';
import type { Collected, LeftOut, Statement } from './statement.ts';

const reads = /^(?:select|with|table|values|explain|show)\b/i;

/** The statements of a block, without their semicolons. Each one ends at the end of a line. */
export function statementsIn(sql: string): readonly string[] {
  return sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** Statements of the pages for readers, which a reader runs, and of the other pages, which the owner runs. */
export function pageStatements(): Collected {
  const forReaders = new Set<DocumentedQuery>(documentedQueries);
  const statements: Statement[] = [];
  const leftOut: LeftOut[] = [];
  const uses = new Map<string, number>();
  for (const block of sqlBlocks) {
    const role = forReaders.has(block) ? 'reader' : 'owner';
    for (const sql of statementsIn(block.sql)) {
      const title = `${block.page.replace(/^docs\//, '')}: ${block.title}`;
      const use = (uses.get(title) ?? 0) + 1;
      uses.set(title, use);
      const name = use === 1 ? title : `${title}, ${String(use)}`;
      if (reads.test(sql)) statements.push({ name, source: 'page', range: undefined, role, sql });
      else leftOut.push({ name, reason: `changes data or rights: ${sql.split('\n')[0] ?? ''}` });
    }
  }
  return { statements, leftOut };
}
