/**
 * Checks that the suite detects bugs. The compiled program is copied, one bug is injected into the copy, and a short
 * run of the copy must fail. A copy without a bug must pass first; otherwise a failure is no evidence.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mutants, type Mutant } from './mutants.ts';
import { replaceOnce } from './replace-once.ts';
import { runInLanes, type ChaosTier, type TierContext } from '../tiers/tier.ts';

/** Folder of the compiled program, which contains this file. */
const compiled = fileURLToPath(new URL('../../..', import.meta.url));
const root = fileURLToPath(new URL('../../../../..', import.meta.url));
/** Symbolic links that a run has created in the compiled folder. */
const links = ['/migrations', '/packages/page/src', '/package.json'];
/** Longer than any short run. A bug that makes a run hang counts as detected. */
const limitMs = 240_000;
const campaignArgs = [
  '--tier',
  'crash-points,seeded,reseeds',
  '--stride',
  '53',
  // The seed is fixed, so that the result does not depend on chance.
  '--seed',
  '1',
  '--seeds',
  '10',
  '--lanes',
  '2',
  '--patience',
  '15',
  '--bail',
];

export const mutation: ChaosTier = {
  name: 'mutants',
  what: `${String(mutants.length)} injected bugs, each of which a short run of the suite has to detect`,
  run: async (context) => {
    const selectedMutants = mutants.filter(({ name }) => context.point === undefined || name.includes(context.point));
    // First, each run that has to detect a bug must pass without one.
    for (const fault of new Set([undefined, ...selectedMutants.map((mutant) => mutant.fault)])) {
      const { code, output } = await tryCopy(undefined, fault);
      if (code !== 0) {
        context.report.fail({
          tier: 'mutants',
          replay,
          found: [`without a bug, faults ${fault ?? 'of all kinds'}`, output],
        });
        return;
      }
    }
    await runInLanes(Math.min(2, context.lanes), selectedMutants, (mutant) => tryMutant(context, mutant));
  },
};

const replay = 'npm run chaos -- --tier mutants';

async function tryMutant({ report, say: logLine }: TierContext, mutant: Mutant): Promise<void> {
  const { code, output } = await tryCopy(mutant, mutant.fault);
  report.mutants += 1;
  // If a run ended for another reason, it has detected nothing.
  if (code !== null && !output.startsWith('FAILED')) {
    report.fail({ tier: 'mutants', replay, found: [`not detected: ${mutant.name}`, output] });
    return;
  }
  report.mutantsCaught += 1;
  logLine(`detected: ${mutant.name}: ${output}`);
}

/** Runs a copy of the program. The code is null if the run had to be killed. */
async function tryCopy(
  mutant: Mutant | undefined,
  fault: string | undefined,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-mutant-'));
  try {
    await cp(compiled, folder, { recursive: true, filter: (path) => !links.some((name) => path.endsWith(name)) });
    await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
    await mkdir(join(folder, 'packages/page'), { recursive: true });
    for (const name of ['node_modules', 'migrations', 'packages/page/src'])
      await symlink(join(root, name), join(folder, name));
    if (mutant !== undefined) await replaceOnce(join(folder, 'src', mutant.file), mutant.line, mutant.instead);
    return await runCampaign(folder, fault);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runCampaign(
  folder: string,
  fault: string | undefined,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const faultArgs = fault === undefined ? [] : ['--fault', fault];
  const child = spawn(process.execPath, [join(folder, 'test/chaos/main.js'), ...campaignArgs, ...faultArgs], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const limit = setTimeout(() => child.kill('SIGTERM'), limitMs);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(limit);
  const summaryLine =
    output.split('\n').find((line) => line.startsWith('FAILED')) ?? output.trimEnd().split('\n').at(-1) ?? '';
  return { code, output: summaryLine.slice(0, 300) };
}
