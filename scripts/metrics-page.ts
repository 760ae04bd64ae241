/** Text of docs/reference/metrics.md: the catalogue of metrics, the metrics of Node, and the alerts on both. */
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { parse } from 'yaml';
import { metricGroups } from '../src/observe/metrics/catalogue/catalogue.ts';
import type { MetricDescription, LabelValues } from '../src/observe/metrics/catalogue/description.ts';
import { createMetrics } from '../src/observe/metrics/metrics.ts';
import { pageUrl } from '../src/page-url.ts';

const introduction = `# Metrics

\`GET /metrics\` on \`INDEXER_HTTP_PORT\` (7580) returns all metrics in the Prometheus text format. Times are in seconds, sizes in bytes;
counters end in \`_total\`. No label holds a party or a payload.

Series whose labels are known in advance exist from the start, with 0, or NaN if 0 would mean something else: alerts see the first
change. \`npm run docs:metrics\` writes this page from \`src/observe/metrics/catalogue\` and the alert rules.

## Read the metrics

- **Why is it behind?** \`sum by (activity) (rate(indexer_stream_seconds_total[1m]))\` is the share of time per activity: \`source\` waits for
  the ledger, \`decode\` builds rows, \`database\` waits for Postgres. Retries after a failure count for the side that failed. The
  remainder to 1 is time without a stream (starting, standby, parked).
- **How far is it behind?** \`clamp_min(indexer_ledger_end_offset - indexer_checkpoint_offset, 0)\` in offsets,
  \`time() - indexer_last_record_timestamp_seconds\` in seconds.
- **Are there two writers?** Processes of one stream share database and schema. The fence in the database rejects the second writer; this
  query finds it:

\`\`\`promql
sum by (database, schema) (indexer_leader * on (job, instance) group_left (database, schema) indexer_stream_info) > 1
\`\`\`

- **How long do queries take?** \`op="batch"\` of \`indexer_pg_query_seconds\` is a complete batch in one round trip. With
  \`INDEXER_WRITE_CONCURRENCY\` above 1, \`copy\` is its rows and \`finish\` the remainder, when it is the turn of that batch. Only
  \`pg_stat_statements\` can time the single statements.
`;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

/** The complete page, for the project in the working directory. */
export async function metricsPage(): Promise<string> {
  const alerts = alertsByMetric(await readFile('grafana/alerts/ledger-indexer.rules.yaml', 'utf8'));
  const groups = metricGroups.flatMap(({ title, metrics }) => [`## ${title}\n`, metricsTable(metrics, alerts)]);
  return [introduction, ...groups, histogramBuckets(), await processMetrics(alerts)].join('\n');
}

type Alerts = ReadonlyMap<string, readonly string[]>;

/**
 * Metrics that most rules use only for joining or filtering. They have an alert only if its expression begins with
 * them.
 */
const metricList = ['indexer_phase', 'indexer_leader', 'indexer_stream_info'];

/** Links to the alerts of each metric, by its name. */
function alertsByMetric(rules: string): Alerts {
  const idsByContract = new Map<string, string[]>();
  const { groups } = parse(rules) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  for (const { alert, expr, annotations } of groups.flatMap((group) => group.rules)) {
    const referencedMetrics = [...expr.matchAll(/\b(?:indexer|nodejs|process)_\w+/g)].map(([name]) =>
      name.replace(/_bucket$/, ''),
    );
    const page = annotations.runbook_url.replace(pageUrl(''), '');
    const link = `[${alert}](${posix.relative('docs/reference', page)})`;
    for (const name of new Set(referencedMetrics)) {
      if (metricList.includes(name) && name !== referencedMetrics[0]) continue;
      idsByContract.set(name, [...(idsByContract.get(name) ?? []), link]);
    }
  }
  return idsByContract;
}

function metricsTable(metrics: readonly MetricDescription[], alerts: Alerts): string {
  const rows = metrics.map(({ type, name, help, use, labels }) => [
    `\`indexer_${name}\``,
    type,
    Object.entries(labels)
      .map(([labelName, values]) => `\`${labelName}\`: ${labelValues(values)}`)
      .join('<br>'),
    `${help} ${use}`,
    alerts.get(`indexer_${name}`)?.join(', ') ?? '',
  ]);
  return table(['Metric', 'Type', 'Labels', 'Meaning', 'Alerts'], rows);
}

function labelValues(values: LabelValues): string {
  if ('words' in values) return values.words;
  return values.map((value) => `\`${value}\``).join(', ');
}

function histogramBuckets(): string {
  const histograms = metricGroups.flatMap(({ metrics }) => metrics).filter(({ type }) => type === 'histogram');
  const rows = histograms.map(({ name, buckets }) => [`\`indexer_${name}\``, buckets.join(', ')]);
  return `## Buckets of histograms\n\n${table(['Histogram', 'Upper bounds'], rows)}`;
}

async function processMetrics(alerts: Alerts): Promise<string> {
  const metricNames = (await createMetrics({ version: '' }).registry.getMetricsAsJSON())
    .filter(({ name }) => !name.startsWith('indexer_'))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  const rows = metricNames.map(({ name, help }) => [`\`${name}\``, help, alerts.get(name)?.join(', ') ?? '']);
  return `## Node and the operating system\n\n${table(['Metric', 'Meaning', 'Alerts'], rows)}`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [titles, titles.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`,
  );
  return ['<!-- prettier-ignore-start -->', '', ...lines, '', '<!-- prettier-ignore-end -->', ''].join('\n');
}
