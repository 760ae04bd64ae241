/** A ledger, a running indexer, and `rebuild` at the same time, like an operator runs it. */
import { rebuildCommand } from '../../src/cli/rebuild/rebuild.ts';
import type { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { runCommand } from '../support/run-command.ts';

/** Starts and follows with everything, so that a fresh index of the same ledger is equal. */
export const fromGenesis = { INDEXER_START: 'genesis' };

/** Runs `rebuild WORDS`; resolves to what it printed. */
export async function rebuild(
  world: HistoryWorld,
  words: string,
  more: Readonly<Record<string, string>> = {},
  stop?: AbortSignal,
): Promise<string> {
  const printed: string[] = [];
  const io = {
    print: (line: string): void => void printed.push(line),
    stdout: quiet(printed),
    ...(stop === undefined ? {} : { stop }),
  };
  const env = { ...world.env('ledger', { INDEXER_RETRY_MAX_DELAY: '200ms', INDEXER_LOG_FORMAT: 'json', ...more }) };
  await runCommand(rebuildCommand, words.split(' ').filter(Boolean), env, io as never);
  return printed.join('\n');
}

function quiet(lines: string[]) {
  return {
    isTTY: false,
    write: (text: string): boolean => lines.push(text.trimEnd()) > 0,
  };
}

/** The view that a query names first, once one exists. */
export async function viewOf(world: HistoryWorld, text: string): Promise<string> {
  return waitFor('a typed view', async () => {
    const name = await value(world, text);
    return typeof name === 'string' ? name : undefined;
  });
}

/** One value of the database. */
export async function value(world: HistoryWorld, text: string): Promise<unknown> {
  return Object.values((await query(world.database.url, text))[0] ?? {})[0];
}
