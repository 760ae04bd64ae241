/** Formats the causes as the table of docs/runbook/causes.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cause, Named } from './cause.ts';

const [begin, end] = ['<!-- causes -->', '<!-- /causes -->'];
/** The project root. This file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));

/** @param runbook folder with the pages of the alerts */
export function causesMarkdown(causes: readonly Cause[], runbook: string): string {
  const links = alertLinks(runbook);
  const rows = causes.map(({ group, what, soon, later = soon, alerts }) => [
    group,
    what,
    named(soon),
    later.state === soon.state && later.code === soon.code ? 'the same' : named(later),
    alerts.map((alert) => links.get(alert) ?? alert).join(', ') || 'none',
  ]);
  const titles = ['Where', 'What happens', 'Within ten seconds', 'After five minutes', 'Alert'];
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A link to the runbook section of each alert, by alert name. */
function alertLinks(runbook: string): ReadonlyMap<string, string> {
  const pages = readdirSync(runbook).filter((name) => name.endsWith('.md'));
  return new Map(
    pages.flatMap((page) =>
      [...readFileSync(join(runbook, page), 'utf8').matchAll(/^## (Indexer\w+)$/gm)].map(([, alert = '']) => [
        alert,
        `[${alert}](${page}#${alert.toLowerCase()})`,
      ]),
    ),
  );
}

function named({ code, state }: Named): string {
  return code === undefined ? `\`${state}\`` : `\`${state}\`: \`${code}\``;
}

/** The text between the table markers of a page. @throws Error if the page has no markers */
export function tableIn(page: string): string {
  const { from, to } = markersIn(page);
  return page.slice(from, to).trim();
}

function markersIn(page: string): { readonly from: number; readonly to: number } {
  const [at, to] = [page.indexOf(begin), page.indexOf(end)];
  if (at < 0 || to < at) throw new Error(`the page lacks ${begin} or ${end}`);
  return { from: at + begin.length, to };
}

/** Writes the table into docs/runbook/causes.md. */
export async function writeTable(causes: readonly Cause[]): Promise<void> {
  const runbook = join(root, 'docs/runbook');
  const path = join(runbook, 'causes.md');
  const page = await readFile(path, 'utf8');
  const { from, to } = markersIn(page);
  await writeFile(path, `${page.slice(0, from)}\n\n${causesMarkdown(causes, runbook)}\n\n${page.slice(to)}`);
}
