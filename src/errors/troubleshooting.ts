/** The error catalogue as a markdown table for operators. */
import { catalogue } from './catalogue.ts';
import type { FailureKind, RetryClass } from './failure-kind.ts';

/** A row for each code with its meaning, its remedy and the reaction of the indexer. */
export function troubleshootingMarkdown(): string {
  const rows = Object.entries(catalogue).map(([code, kind]) =>
    [`\`${code}\``, kind.meaning, kind.remedy ?? 'printed with the error', then(kind), String(kind.exitCode)].map(
      escaped,
    ),
  );
  const titles = ['Code', 'Meaning', 'Remedy', 'While indexing', 'Exit code of a command'];
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const whatFollows: Readonly<Record<RetryClass, string>> = {
  retry: 'retries',
  'refresh-token': 'reads the token again and retries, then parks',
  fenced: 'starts again, as a standby if necessary',
  park: 'parks',
  fatal: 'ends',
};

function then({ retry, retryLimit }: FailureKind): string {
  return `${whatFollows[retry]}${retry === 'retry' ? limit(retryLimit) : ''}`;
}

function limit(retryLimit: FailureKind['retryLimit']): string {
  if (retryLimit === undefined) return '';
  if (retryLimit.ms !== undefined) return ` for ${String(retryLimit.ms / 60_000)} minutes, then parks`;
  const times = String((retryLimit.times ?? 0) + 1);
  return retryLimit.named === true
    ? `; parks after ${times} failures of the same update`
    : `; parks after ${times} failures without progress`;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
