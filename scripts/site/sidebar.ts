/** The order in which the site offers its pages. */

export interface Group {
  readonly text: string;
  readonly pages: readonly (readonly [title: string, path: string])[];
}

export const groups: readonly Group[] = [
  {
    text: 'Begin',
    pages: [
      ['What it is', 'index.md'],
      ['Answers', 'answers.md'],
      ['From PQS', 'from-pqs.md'],
      ['All pages by task', 'pages.md'],
    ],
  },
  {
    text: 'Read',
    pages: [
      ['Reading with SQL', 'sql.md'],
      ['Queries written for PQS', 'pqs-compatibility.md'],
      ['Dashboards', 'dashboards.md'],
      ['GraphQL', 'graphql.md'],
      ['The lake', 'lake.md'],
      ['Coverage of the ledger', 'coverage.md'],
      ['Names that have changed', 'reference/names.md'],
    ],
  },
  {
    text: 'Run',
    pages: [
      ['Operating', 'operations.md'],
      ['Commands', 'commands.md'],
      ['Deploying', 'deploy/index.md'],
      ['Docker Compose', 'deploy/compose.md'],
      ['Helm chart', 'deploy/chart.md'],
      ['High availability', 'high-availability.md'],
      ['Change your mind', 'history.md'],
      ['Retention and redaction', 'retention.md'],
      ['When one machine is not enough', 'scale.md'],
      ['Metrics', 'metrics.md'],
      ['Tracing', 'tracing.md'],
      ['Runbook', 'runbook.md'],
    ],
  },
  {
    text: 'Trust',
    pages: [
      ['Verify', 'verify.md'],
      ['Invariants', 'invariants.md'],
      ['Reliability', 'reliability.md'],
      ['Performance', 'performance.md'],
      ['Security', 'security.md'],
      ['Reporting a weakness', 'reporting.md'],
    ],
  },
  {
    text: 'Build',
    pages: [
      ['The library', 'library.md'],
      ['Changes', 'changes.md'],
      ['Webhooks', 'webhooks.md'],
      ['Testing with a ledger', 'testing.md'],
      ['Coverage of the interface', 'interface.md'],
      ['Releases of the participant', 'releases.md'],
      ['Architecture', 'architecture.md'],
      ['Decisions', 'decisions.md'],
      ['Contributing', 'contributing.md'],
      ['Changes', 'changelog.md'],
    ],
  },
];
