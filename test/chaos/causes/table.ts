/** Formats the causes as the table of docs/runbook/causes.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AlertCause, AlertCodes } from './cause.ts';

const [marker, end] = ['<!-- causes -->', '<!-- /causes -->'];
/** The project root. This file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));

/** @param runbook folder with the pages of the alerts */
export function causesMarkdown(causes: readonly AlertCause[], runbook: string): string {
  const links = alertLinks(runbook);
  const rows = causes.map(({ group, what: description, soon: earlyCodes, later: laterCodes = earlyCodes, alerts }) => [
    group,
    description,
    causeText(earlyCodes),
    laterCodes.state === earlyCodes.state && laterCodes.code === earlyCodes.code ? 'the same' : causeText(laterCodes),
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

function causeText({ code, state }: AlertCodes): string {
  return code === undefined ? `\`${state}\`` : `\`${state}\`: \`${code}\``;
}

/** The text between the table markers of a page. @throws Error if the page has no markers */
export function tableIn(page: string): string {
  const { from, to } = markersIn(page);
  return page.slice(from, to).trim();
}

function markersIn(page: string): { readonly from: number; readonly to: number } {
  const [markerStart, to] = [page.indexOf(marker), page.indexOf(end)];
  if (markerStart < 0 || to < markerStart) throw new Error(`the page lacks ${marker} or ${end}`);
  return { from: markerStart + marker.length, to };
}

/** Writes the table into docs/runbook/causes.md. */
export async function writeTable(causes: readonly AlertCause[]): Promise<void> {
  const runbook = join(root, 'docs/runbook');
  const path = join(runbook, 'causes.md');
  const page = await readFile(path, 'utf8');
  const { from, to } = markersIn(page);
  await writeFile(path, `${page.slice(0, from)}\n\n${causesMarkdown(causes, runbook)}\n\n${page.slice(to)}`);
}
