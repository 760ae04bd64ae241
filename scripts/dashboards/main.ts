/**
 * `npm run check:dashboards [-- --json FILE] [--pictures FOLDER] [--seconds N] [--rate N]`: runs every query of every dashboard
 * against a running demo, and tests every alert with promtool. Exit code 1 if anything fails, 69 if a program is missing.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkAlerts } from './alerts.ts';
import { queryUntilComplete } from './check.ts';
import { readDashboards } from './dashboard.ts';
import { lintDashboards, type Problem } from './dashboard-lint.ts';
import { startDemo } from './demo.ts';
import { drawPictures } from './pictures.ts';
import { isInstalled } from './program.ts';
import { lintProvisioning, readProvisioning } from './provisioning.ts';
import { hasPassed, printReport, summaryOf, type Findings } from './report.ts';

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    pictures: { type: 'string' },
    /** Seconds that the demo runs before the queries, because pictures need longer curves. */
    seconds: { type: 'string', default: '0' },
    /** Updates per second. */
    rate: { type: 'string' },
  },
});

const missingPrograms = ['prometheus', 'promtool'].filter((program) => !isInstalled(program));
if (missingPrograms.length > 0) {
  console.error(
    `dashboards: not checked: ${missingPrograms.join(' and ')} not found on PATH; on Debian: apt-get install prometheus`,
  );
  process.exitCode = 69;
} else {
  const findings = await findAll();
  process.stdout.write(printReport(findings));
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(summaryOf(findings), undefined, 2)}\n`);
  process.exitCode = hasPassed(findings) ? 0 : 1;
}

async function findAll(): Promise<Findings> {
  const files = await readDashboards('grafana/dashboards');
  const provisioned = lintProvisioning(await readProvisioning('grafana/provisioning'), files);
  const alerts = await checkAlerts('grafana/alerts/ledger-indexer.rules.yaml', 'test/alerts');
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-dashboards-'));
  const startedAt = Date.now();
  try {
    const demo = await startDemo({
      folder,
      updatesPerSecond: values.rate === undefined ? undefined : Number(values.rate),
    });
    try {
      await sleep(Number(values.seconds) * 1_000);
      const metrics = metricNames(await (await fetch(`${demo.httpUrl}/metrics`)).text());
      const dashboardAnswers = await queryUntilComplete(files, demo, startedAt);
      if (values.pictures !== undefined) await drawPictures(dashboardAnswers, values.pictures);
      const problems: Problem[] = [
        ...lintDashboards(files, metrics),
        ...provisioned.map((problem) => ({ dashboard: 'provisioning', panel: '', problem })),
        ...dashboardAnswers.flatMap(({ name, problems: panelProblems }) =>
          panelProblems.map((problem) => ({ dashboard: name, panel: '', problem })),
        ),
      ];
      return { panels: dashboardAnswers.flatMap(({ panels }) => panels), problems, alerts };
    } finally {
      await demo.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Names of the series in the text of /metrics. */
function metricNames(text: string): ReadonlySet<string> {
  return new Set(text.split('\n').flatMap((line) => /^([a-zA-Z_:][\w:]*)/.exec(line)?.[1] ?? []));
}
