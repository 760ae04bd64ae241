/** Search of the site: keywords by page, and the settings of its index. The index contains one document per heading. */

/** Search terms for which the pages use other words, by path on the site. */
export const keywords: Readonly<Record<string, string>> = {
  'get-started/faq.md': 'evaluation questions privacy telemetry',
  'get-started/index-your-ledger.md': 'connect install configure participant setup',
  'get-started/migrate-from-pqs.md': 'scribe participant query store migration',
  'how-to/change/backfill-history.md': 'old updates past',
  'how-to/change/extend-filter.md': 'add party template interface widen',
  'how-to/change/prune.md': 'retention delete old data cleanup',
  'how-to/change/rebuild-schema.md': 're-index reindex swap',
  'how-to/change/recover-history.md': 'restored reset pruned participant reseed gap',
  'how-to/change/redact.md': 'GDPR privacy personal data PII erasure right to be forgotten delete',
  'how-to/change/rewind.md': 'rollback reset reorg',
  'how-to/integrate/change-feed.md': 'events stream SSE subscribe real-time live push NDJSON',
  'how-to/integrate/graphql.md': 'PostGraphile API',
  'how-to/integrate/parquet-export.md': 'data lake Delta DuckDB Spark ClickHouse S3 bucket warehouse',
  'how-to/integrate/test-your-app.md': 'sandbox testcontainers mock ledger integration tests',
  'how-to/integrate/typescript.md': 'Kysely codegen client SDK types Node',
  'how-to/integrate/webhooks.md': 'push notifications HTTP callback',
  'how-to/query/account-statements.md': 'CSV audit balance',
  'how-to/query/bi-tools.md': 'Metabase Superset Power BI Tableau business intelligence ODBC JDBC',
  'how-to/query/dashboards.md': 'Grafana panels monitoring',
  'how-to/query/network.md': 'rewards traffic validators Splice Amulet Canton Coin',
  'how-to/query/own-projections.md': 'materialized view dbt Ponder Envio handler alert volume balance',
  'how-to/query/payload-indexes.md': 'slow query index JSON performance',
  'how-to/query/read-your-writes.md': 'wait consistency notify listen',
  'how-to/query/tokens.md': 'CIP-56 holdings balances transfers',
  'how-to/run/access-tokens.md': 'OAuth OIDC Keycloak Auth0 JWT identity provider authentication',
  'how-to/run/backup-and-restore.md': 'disaster recovery pg_dump snapshot restore PITR',
  'how-to/run/capacity.md': 'disk full sizing scaling memory storage cost',
  'how-to/run/citus.md': 'sharding distributed workers',
  'how-to/run/high-availability.md': 'failover standby HA redundancy Patroni',
  'how-to/run/managed-postgres.md': 'RDS Aurora Cloud SQL Azure Neon Supabase AWS GCP Google cloud hosted',
  'how-to/run/poolers.md': 'pgbouncer pgpool RDS Proxy connection pooling',
  'how-to/run/read-replicas.md': 'replication lag hot standby readers scale',
  'how-to/run/several-participants.md': 'multiple participants nodes validators second many',
  'how-to/run/tracing.md': 'OpenTelemetry OTLP spans',
  'how-to/run/tune-postgres.md': 'settings parameters shared_buffers checkpoint autovacuum',
  'how-to/run/uninstall.md': 'uninstall remove delete drop',
  'how-to/run/upgrade.md': 'upgrade update version migration',
  'how-to/run/verify.md': 'compare audit consistency check',
  'how-to/secure/container.md': 'Docker Podman hardening rootless',
  'how-to/secure/reader-roles.md': 'permissions row-level security RLS users grant',
  'how-to/secure/reader-tokens.md': 'API key bearer authentication',
  'how-to/secure/node-tokens.md': 'JWT JWKS OIDC user rights CanReadAs bearer authentication',
  'how-to/secure/roles.md': 'permissions least privilege grant users',
  'deploy/index.md': 'Kubernetes Helm systemd Docker Compose install production',
  'deploy/chart.md': 'Kubernetes Helm chart values k8s',
  'deploy/compose.md': 'Docker Compose container',
  'runbook/index.md': 'alerts on-call incident troubleshooting',
  'reference/configuration.md': 'environment variables options flags settings',
  'reference/endpoints.md': 'HTTP API health probes readyz livez status',
  'reference/error-codes.md': 'troubleshooting errors failure',
  'reference/metrics.md': 'Prometheus monitoring',
  'explanation/comparison.md': 'alternatives Ponder SQD Envio The Graph PQS',
  'explanation/performance.md': 'latency throughput benchmark speed fast',
  'explanation/reliability.md': 'guarantees exactly once chaos testing',
  'explanation/security-model.md': 'threat model privacy compliance',
};

interface Section {
  /** `/BASE/PAGE.html#ANCHOR` */
  readonly id: string;
  readonly title: string;
  /** Headings above it; empty for the title of a page. */
  readonly titles: readonly string[];
  readonly text: string;
}

/**
 * Options of MiniSearch for VitePress. They are also sent to the browser as text, so functions for the search may only
 * use their arguments.
 */
export function searchSettings(base: string) {
  const keywordsByPage = new Map(
    Object.entries(keywords).map(([path, pageKeywords]) => [base + addressOf(path), pageKeywords]),
  );
  return {
    options: {
      fields: ['title', 'titles', 'text', 'keywords'],
      extractField: (section: Section, field: string) =>
        field !== 'keywords'
          ? section[field as keyof Section]
          : section.titles.length > 0
            ? ''
            : (keywordsByPage.get(section.id.split('#')[0] ?? '') ?? ''),
    },
    searchOptions: {
      // For a short word, too many other words differ by one letter, such as `and` for `RDS`.
      fuzzy: (term: string) => (term.length > 5 ? 0.2 : false),
      prefix: true,
      boost: { keywords: 12, title: 6, text: 2, titles: 1 },
    },
  };
}

/** Address of a page below the base of the site. */
export function addressOf(path: string): string {
  return path.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '.html');
}
