/** State shared by all measurements of one call, including their results. */
import type { Figure, Line } from './figures/figures.ts';
import type { Variant } from './indexer-process.ts';
import type { LatencyRun } from './latency.ts';
import type { MemoryRun } from './memory.ts';
import type { Options } from './options.ts';
import type { Server } from './postgres.ts';
import { printStatus } from './figures/terminal.ts';

export interface LatencyLine {
  readonly profile: string;
  readonly updatesPerSecond: number;
  readonly runs: LatencyRun[];
}

export interface MemoryLine {
  readonly profile: string;
  readonly name: string;
  readonly run: MemoryRun;
}

export interface Session {
  readonly options: Options;
  readonly server: Server;
  readonly lines: Line[];
  readonly latencies: LatencyLine[];
  readonly memories: MemoryLine[];
  /** Texts that are printed below the table: errors, summaries of CPU profiles. */
  readonly errors: string[];
  readonly notes: string[];
}

/** Returns the line with this name, and creates it if it is new. */
export function lineOf(session: Session, profile: string, name: string): Line {
  const previousLine = session.lines.find((line) => line.profile === profile && line.name === name);
  if (previousLine !== undefined) return previousLine;
  const line: Line = { profile, name, figures: [] };
  session.lines.push(line);
  return line;
}

/** Measures once and records the result. An error counts only for that round. */
export async function recordFigure(
  session: Session,
  profile: string,
  name: string,
  run: () => Promise<Figure>,
): Promise<void> {
  const line = lineOf(session, profile, name);
  printStatus(`${profile}, round ${String(line.figures.length + 1)}: ${name}`);
  const figure = await run().catch((error: unknown): Figure => {
    return { error: error instanceof Error ? error.message : String(error) };
  });
  if (figure.error !== undefined) session.errors.push(`${profile}, ${name}: ${figure.error}`);
  line.figures.push(figure);
}

export const oneLaneName = 'ingest';
export const twoLaneName = 'ingest, 2 lanes';

/** Ways to run the indexer in each round: with one lane, with two lanes, and those of the caller. */
export function variantsOf(options: Options): readonly Variant[] {
  const ownVariants: Variant[] = [
    { name: oneLaneName, env: { INDEXER_WRITE_CONCURRENCY: '1', ...options.env } },
    { name: twoLaneName, env: { INDEXER_WRITE_CONCURRENCY: '2', ...options.env } },
  ];
  const otherVariants = options.variants.map(({ name, env, program }) => ({
    name: `ingest, ${name}`,
    env: { ...options.env, ...env },
    ...(program === undefined ? {} : { program }),
  }));
  return [...ownVariants, ...otherVariants];
}

/** The program as released, which is used for all measurements except ingest. */
export function plainVariant(options: Options): Variant {
  return { name: 'as shipped', env: options.env };
}
