/** Final report of `npm run bench:reads`: one table with aims, and the same results as JSON. */
import { writeFileSync } from 'node:fs';
import { aligned } from '../figures/figures.ts';
import type { ReadFigure } from './measure.ts';
import { targetsMs, type ReadQuery } from './queries.ts';

export interface ReadReport {
  /** One line about the subject and the conditions of the measurement. */
  readonly title: string;
  readonly figures: readonly ReadFigure[];
  readonly errors: readonly string[];
}

/** Label of a query in the table and in errors: its question and its way. */
export function labelOf({ question: queryName, way: querySource }: ReadQuery): string {
  return `${queryName} ${querySource}`;
}

const heads = [
  'query',
  'through',
  'rows',
  'server p50',
  'p95',
  'max',
  'aim',
  '',
  'planning p50',
  'client p50',
  'p95',
  'buffers',
];

/** The table as text, with times in milliseconds. */
export function readTable({ title, figures, errors }: ReadReport): string {
  const rows = figures.map(({ query, rows: rowTotal, server, planning, client, buffers }) => {
    const targetMs = targetsMs[query.question];
    return [
      query.question,
      query.way,
      String(rowTotal),
      server.p50.toFixed(2),
      server.p95.toFixed(2),
      server.max.toFixed(2),
      String(targetMs),
      server.p95 <= targetMs ? 'met' : 'missed',
      planning.p50.toFixed(2),
      client.p50.toFixed(2),
      client.p95.toFixed(2),
      String(buffers),
    ];
  });
  const errorSummary = errors.length === 0 ? [] : [`WRONG:\n${errors.join('\n')}`];
  return [title, aligned([heads, ...rows]), 'Aims are for p95 of the server (milliseconds).', ...errorSummary].join(
    '\n\n',
  );
}

/** Results by key: `active_by_id_p95_ms` for schema explore, `pqs_active_by_id_p95_ms` for pqs, and so on. */
function keyFigures(figures: readonly ReadFigure[]): Record<string, number> {
  return Object.fromEntries(
    figures.map(({ query: { question: queryName, way: querySource }, server }) => [
      `${querySource === 'explore' ? '' : `${querySource}_`}${queryName}_p95_ms`,
      Number(server.p95.toFixed(3)),
    ]),
  );
}

/** Writes the key results, and all values that they are computed from. */
export function writeReadJson(path: string, { title, figures, errors }: ReadReport): void {
  const rows = figures.map(({ query: { question: queryName, way: querySource, text }, ...figure }) => ({
    question: queryName,
    way: querySource,
    text,
    aimMs: targetsMs[queryName],
    ...figure,
  }));
  writeFileSync(path, `${JSON.stringify({ title, ...keyFigures(figures), figures: rows, errors }, null, 2)}\n`);
}
