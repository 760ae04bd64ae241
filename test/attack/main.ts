/** `npm run attack`: attacks an indexer from outside. Prints the findings; the exit code is 1 if there are any. */
import { writeFileSync } from 'node:fs';
import { groups } from './groups.ts';
import { help, readOptions, type AttackOptions } from './options.ts';
import { findingLines, isPassing, lastLine, reportOf } from './report.ts';
import { runGroups, type Result } from './campaign.ts';
import { World } from './world/world.ts';
import type { Group } from './attempt.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const logLine = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

function selectGroups(pattern: RegExp | undefined): readonly Group[] {
  if (pattern === undefined) return groups;
  return groups
    .map((group) =>
      pattern.test(group.name) ? group : { ...group, attempts: group.attempts.filter(({ id }) => pattern.test(id)) },
    )
    .filter(({ attempts }) => attempts.length > 0);
}

async function attack({ database, updatesPerSecond, only: pattern, json }: AttackOptions): Promise<boolean> {
  const chosenAttempts = selectGroups(pattern);
  if (chosenAttempts.length === 0) throw new Error('--only: no attempt and no group matches');
  await using world = await World.open({ databaseUrl: database, updatesPerSecond });
  logLine(`attacking on Postgres ${world.server.version}, ${world.server.isOwn ? 'embedded' : 'given by URL'}`);
  // Called after each group, so that an interrupted run also has results.
  const save = (results: readonly Result[]): void => {
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(reportOf(results), undefined, 2)}\n`);
  };
  const report = reportOf(await runGroups(world, chosenAttempts, logLine, save));
  for (const line of findingLines(report)) print(line);
  print(lastLine(report));
  return isPassing(report);
}

const options = readOptions(process.argv.slice(2), process.env);
if (options === undefined) print(help);
else {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
  const isClean = await attack(options);
  // Ends the process even if a hostile peer left a socket open.
  process.exit(isClean ? 0 : 1);
}
