/** A ledger, a running indexer and a concurrent `rebuild`, as an operator runs them. */
import { rebuildCommand } from '../../src/cli/rebuild/rebuild.ts';
import type { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';

/** Configuration with the complete history, so that a fresh index of the same ledger is equal. */
export const fromGenesis = { INDEXER_START: 'genesis' };

/** Runs `rebuild WORDS`. Resolves to its output. */
export async function rebuild(
  world: HistoryWorld,
  args: string,
  extraEnv: Readonly<Record<string, string>> = {},
  stop?: AbortSignal,
): Promise<string> {
  const outputLines: string[] = [];
  const io = {
    print: (line: string): void => void outputLines.push(line),
    stdout: captureLines(outputLines),
    ...(stop === undefined ? {} : { stop }),
  };
  const env = { ...world.env('ledger', { INDEXER_RETRY_MAX_DELAY: '200ms', INDEXER_LOG_FORMAT: 'json', ...extraEnv }) };
  await runCommand(rebuildCommand, args.split(' ').filter(Boolean), env, io as never);
  return outputLines.join('\n');
}

function captureLines(lines: string[]) {
  return {
    isTTY: false,
    write: (text: string): boolean => lines.push(text.trimEnd()) > 0,
  };
}

/** Waits until the query returns the name of a view, and returns the first name. */
export async function viewOf(world: HistoryWorld, text: string): Promise<string> {
  return waitFor('a typed view', async () => {
    const name = await value(world, text);
    return typeof name === 'string' ? name : undefined;
  });
}

/** The first value that the statement returns. */
export async function value(world: HistoryWorld, text: string): Promise<unknown> {
  return Object.values((await query(world.database.url, text))[0] ?? {})[0];
}
