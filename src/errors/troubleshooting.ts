/** The catalogue as the table that operators read. */
import { catalogue } from './catalogue.ts';
import type { FailureKind, RetryClass } from './failure-kind.ts';

/** Every code with its meaning, what to do, and what the indexer does. */
export function troubleshootingMarkdown(): string {
  const rows = Object.entries(catalogue).map(([code, kind]) =>
    [`\`${code}\``, kind.meaning, kind.remedy, then(kind), String(kind.exitCode)].map(escaped),
  );
  const titles = ['Code', 'Meaning', 'What to do', 'While indexing', 'Exit of a command'];
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const whatFollows: Readonly<Record<RetryClass, string>> = {
  retry: 'tries again',
  'refresh-token': 'tries again with a token read anew, then parks',
  fenced: 'starts afresh, as a standby if need be',
  park: 'parks',
  fatal: 'ends',
};

function then({ retry, patience }: FailureKind): string {
  return `${whatFollows[retry]}${retry === 'retry' ? limit(patience) : ''}`;
}

function limit(patience: FailureKind['patience']): string {
  if (patience === undefined) return '';
  if (patience.ms !== undefined) return ` for ${String(patience.ms / 60_000)} minutes, then parks`;
  const times = String((patience.times ?? 0) + 1);
  return patience.named === true
    ? `; parks after ${times} where one update is the reason`
    : `; parks after ${times} without progress`;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
