/** docs/metrics.md as text, from the catalogue of the metrics and from what Node adds to them. */
import { questions } from '../src/observe/metrics/catalogue/catalogue.ts';
import type { AnyDescription, LabelValues } from '../src/observe/metrics/catalogue/description.ts';
import { createMetrics } from '../src/observe/metrics/metrics.ts';

const introduction = `# Metrics

\`GET /metrics\` on \`INDEXER_HTTP_PORT\` (7580) answers in the Prometheus text format. Times are seconds, sizes bytes, counters
end in \`_total\`, and no label holds a party or a payload. Every series whose labels are known beforehand is there from the
start with 0, or NaN where 0 would say something, so that alerts see the first change.

This page is written by \`npm run docs:metrics\` from \`src/observe/metrics/catalogue\`; a test compares it.
`;

const reading = `## Reading them

**Why am I behind?** \`sum by (activity) (rate(indexer_stream_seconds_total[1m]))\` says which share of the time went where. At
any moment the stream does at most one of the three: it waits for frames of the ledger (\`source\`), decodes them and builds
rows (\`decode\`), or waits for the database to take or to commit them (\`database\`). While it backs off after a failure, the
time counts for the side that failed. What is missing to 1 is time without a stream: starting, standing by, parked.

**How far behind?** \`clamp_min(indexer_ledger_end_offset - indexer_checkpoint_offset, 0)\` in offsets,
\`time() - indexer_last_record_timestamp_seconds\` in seconds.

**Two writers?** Processes of one stream share database and schema:

\`\`\`promql
sum by (database, schema) (indexer_leader * on (job, instance) group_left (database, schema) indexer_stream_info) > 1
\`\`\`

The fence in the database keeps a second writer from storing anything; the alert tells that one believes to be the writer.

**Query times.** \`batch\` is a whole batch: fence, rows, lifetimes, sums, COMMIT in one round trip. With
\`INDEXER_WRITE_CONCURRENCY\` above 1 the rows of a batch may travel ahead (\`copy\`) and the rest follow when its turn has come
(\`finish\`). Postgres answers within such a round trip at its end only, so single statements in it cannot be timed from
outside; \`pg_stat_statements\` can.
`;

/** The whole page. */
export async function metricsPage(): Promise<string> {
  const parts = [introduction, reading];
  for (const { question, metrics } of questions) parts.push(`## ${question}\n`, ...metrics.map(described));
  parts.push(await addedByNode());
  return parts.join('\n');
}

function described({ type, name, help, use, labels, buckets }: AnyDescription): string {
  const lines = [`### \`indexer_${name}\``, '', `${type}. ${help}`, ''];
  for (const [label, values] of Object.entries(labels)) lines.push(`- \`${label}\`: ${shown(values)}`);
  if (buckets.length > 0) lines.push(`- buckets: ${buckets.join(', ')}`);
  lines.push(`- use: ${use}`, '');
  return lines.join('\n');
}

function shown(values: LabelValues): string {
  if ('words' in values) return values.words;
  return values.map((value) => `\`${value}\``).join(', ');
}

async function addedByNode(): Promise<string> {
  const added = (await createMetrics({ version: '' }).registry.getMetricsAsJSON())
    .filter(({ name }) => !name.startsWith('indexer_'))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  const rows = added.map(({ name, help }) => `- \`${name}\`: ${help}`);
  return ['### Of the process and of Node', '', ...rows, ''].join('\n');
}
