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
import { planted } from './mutants/planted.ts';
import { processes } from './tiers/processes.ts';
import { Report } from './report.ts';
import { reseeds } from './tiers/reseeds.ts';
import { seeded } from './tiers/seeded.ts';
import { servers } from './tiers/servers.ts';
import type { Tier } from './tiers/tier.ts';

/** In the order of execution. */
const tiers: readonly Tier[] = [crashPoints, seeded, reseeds, processes, servers, causes, mutation, planted];

const progressEveryMs = 15_000;
const stopMs = 10_000;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function campaign(options: CampaignOptions): Promise<number> {
  const report = new Report(options.bail);
  const { server: url, firstSeed, seeds, lanes, stride, stepTimeoutMs, point, fault, fastOnly } = options;
  await using server = await openChaosServer(url);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // The server must not outlive this process. If it does not stop in time, it is killed when the process ends.
    process.once(signal, () => {
      setTimeout(() => process.exit(130), stopMs);
      void Promise.resolve(server[Symbol.asyncDispose]()).finally(() => process.exit(130));
    });
  }
  const progress = setInterval(() => say(report.progress()), progressEveryMs);
  for (const tier of tiers) {
    if (options.tiers !== undefined && !options.tiers.includes(tier.name)) continue;
    say(`tier ${tier.name}: ${tier.what}`);
    await tier.run({
      server,
      report,
      lanes,
      stepTimeoutMs,
      firstSeed,
      seeds,
      stride,
      point,
      fault,
      fastOnly,
      say: options.loud ? say : () => undefined,
    });
  }
  clearInterval(progress);
  report.print();
  const missed = report.missed(options.least);
  if (missed.length > 0) say(`hit fewer than ${String(options.least)} times: ${missed.join(', ')}`);
  if (options.json !== undefined) report.writeJson(options.json);
  return report.failures.length + missed.length;
}

const options = readOptions(process.argv.slice(2), tiers);
if (options === undefined) say(help(tiers));
else {
  say(`first random seed ${String(options.firstSeed)}`);
  const failures = await (options.operations ? runOperations(options.operations, say) : campaign(options));
  // Ends the process even if a fault left a socket open.
  process.exit(failures === 0 ? 0 : 1);
}
