/** The causes as the table of docs/runbook.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cause, Named } from './cause.ts';

const [begin, end] = ['<!-- causes -->', '<!-- /causes -->'];
/** Of the project; this file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));

export function causesMarkdown(causes: readonly Cause[]): string {
  const rows = causes.map(({ group, what, soon, later = soon, alerts }) => [
    group,
    what,
    named(soon),
    later.state === soon.state && later.code === soon.code ? 'the same' : named(later),
    alerts.map((alert) => `[${alert}](#${alert.toLowerCase()})`).join(', ') || 'none',
  ]);
  const titles = ['Where', 'What happens', 'Within ten seconds', 'After five minutes', 'Alert'];
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function named({ code, state }: Named): string {
  return code === undefined ? `\`${state}\`` : `\`${state}\`: \`${code}\``;
}

/** The table between its markers in a page. @throws Error if the page has no place for it */
export function tableIn(page: string): string {
  const { from, to } = placeIn(page);
  return page.slice(from, to).trim();
}

function placeIn(page: string): { readonly from: number; readonly to: number } {
  const [at, to] = [page.indexOf(begin), page.indexOf(end)];
  if (at < 0 || to < at) throw new Error(`there is no place between ${begin} and ${end}`);
  return { from: at + begin.length, to };
}

/** Writes it into docs/runbook.md. */
export async function writeTable(causes: readonly Cause[]): Promise<void> {
  const path = join(root, 'docs/runbook.md');
  const page = await readFile(path, 'utf8');
  const { from, to } = placeIn(page);
  await writeFile(path, `${page.slice(0, from)}\n\n${causesMarkdown(causes)}\n\n${page.slice(to)}`);
}
