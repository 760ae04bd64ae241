/** `npm run chaos`: runs the suite. Prints faults and findings; the exit code is 1 if there are findings. */
// This import has a side effect. The other modules need these files as soon as they are imported.
// oxlint-disable-next-line import/no-unassigned-import
import './link-files.ts';
import { causes } from './causes/causes.ts';
import { crashPoints } from './tiers/crash-points.ts';
import { openChaosServer } from './databases.ts';
import { help, readOptions, type CampaignOptions } from './options.ts';
import { mutation } from './mutants/mutation.ts';
import { runOperations } from './operations/campaign.ts';
import { plantedTier } from './mutants/planted.ts';
import { processes } from './tiers/processes.ts';
import { Report } from './report.ts';
import { reseeds } from './tiers/reseeds.ts';
import { seededTier } from './tiers/seeded.ts';
import { servers } from './tiers/servers.ts';
import type { ChaosTier } from './tiers/tier.ts';

/** In the order of execution. */
const chaosTiers: readonly ChaosTier[] = [
  crashPoints,
  seededTier,
  reseeds,
  processes,
  servers,
  causes,
  mutation,
  plantedTier,
];

const progressEveryMs = 15_000;
const stopMs = 10_000;

const logLine = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function runCampaign(options: CampaignOptions): Promise<number> {
  const report = new Report(options.bail);
  const { server: url, firstSeed, seeds, lanes, stride, stepTimeoutMs, point: crashPoint, fault, fastOnly } = options;
  await using server = await openChaosServer(url);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // The server must not outlive this process. If it does not stop in time, it is killed when the process ends.
    process.once(signal, () => {
      setTimeout(() => process.exit(130), stopMs);
      void Promise.resolve(server[Symbol.asyncDispose]()).finally(() => process.exit(130));
    });
  }
  const progress = setInterval(() => logLine(report.progress()), progressEveryMs);
  for (const chaosTier of chaosTiers) {
    if (options.tiers !== undefined && !options.tiers.includes(chaosTier.name)) continue;
    logLine(`tier ${chaosTier.name}: ${chaosTier.what}`);
    await chaosTier.run({
      server,
      report,
      lanes,
      stepTimeoutMs,
      firstSeed,
      seeds,
      stride,
      point: crashPoint,
      fault,
      fastOnly,
      say: options.loud ? logLine : () => undefined,
    });
  }
  clearInterval(progress);
  report.print();
  const uncaughtKinds = report.missed(options.least);
  if (uncaughtKinds.length > 0) logLine(`hit fewer than ${String(options.least)} times: ${uncaughtKinds.join(', ')}`);
  if (options.json !== undefined) report.writeJson(options.json);
  return report.failures.length + uncaughtKinds.length;
}

const options = readOptions(process.argv.slice(2), chaosTiers);
if (options === undefined) logLine(help(chaosTiers));
else {
  logLine(`first random seed ${String(options.firstSeed)}`);
  const failures = await (options.operations ? runOperations(options.operations, logLine) : runCampaign(options));
  // Ends the process even if a fault left a socket open.
  process.exit(failures === 0 ? 0 : 1);
}
