/** The error catalogue as a markdown table for operators. */
import { catalogue } from './catalogue.ts';
import type { FailureKind, RetryClass } from './failure-kind.ts';

/** A row for each code with its meaning, its remedy and the reaction of the indexer. */
export function troubleshootingMarkdown(): string {
  const rows = Object.entries(catalogue).map(([code, kind]) =>
    [`\`${code}\``, kind.meaning, kind.remedy ?? 'printed with the error', effectText(kind), String(kind.exitCode)].map(
      escapeCell,
    ),
  );
  const titles = ['Code', 'Meaning', 'Remedy', 'While indexing', 'Exit code of a command'];
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const retryEffects: Readonly<Record<RetryClass, string>> = {
  retry: 'retries',
  'refresh-token': 'reads the token again and retries, then parks',
  fenced: 'starts again, as a standby if necessary',
  park: 'parks',
  fatal: 'ends',
};

function effectText({ retry, retryLimit }: FailureKind): string {
  return `${retryEffects[retry]}${retry === 'retry' ? limit(retryLimit) : ''}`;
}

function limit(retryLimit: FailureKind['retryLimit']): string {
  if (retryLimit === undefined) return '';
  if (retryLimit.ms !== undefined) return ` for ${String(retryLimit.ms / 60_000)} minutes, then parks`;
  const attemptCount = String((retryLimit.times ?? 0) + 1);
  return retryLimit.named === true
    ? `; parks after ${attemptCount} failures of the same update`
    : `; parks after ${attemptCount} failures without progress`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
