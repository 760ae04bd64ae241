/**
 * Runs the built program as an operator does: as a child process, with environment variables. The output of all runs is
 * kept, so that a test can check that it contains no secret.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { programInProcess } from '../../cli/in-process.ts';
import { query } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { runIndexer } from './indexer-run.ts';

const program = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

/** The schema that all these runs use. */
export const schema = 'bad_input';

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly http?: string;
  readonly err?: { readonly code: string; readonly message: string; readonly remedy?: string };
}

export interface ProcessResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RunningIndexer extends AsyncDisposable {
  /** The complete JSON lines of the log so far. */
  lines(): readonly LogLine[];
  /** Sends a GET to the address that the program logged. */
  get(path: '/status' | '/readyz' | '/livez'): Promise<Answer>;
}

export interface Run extends RunningIndexer {
  readonly ended: Promise<ProcessResult>;
}

const outputs: string[] = [];

/** All output to stdout and stderr of the runs so far. */
export function allOutput(): string {
  return outputs.join('\n');
}

/** Starts the program with only these variables. Disposing stops it with SIGTERM. */
export function startRun(env: Readonly<Record<string, string>>, args: readonly string[] = []): Run {
  const base = { PATH: process.env['PATH'] ?? '', POSTGRES_SCHEMA: schema, INDEXER_HTTP_PORT: '0' };
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...base, INDEXER_LOG_FORMAT: 'json', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const whenEnded = once(child, 'close').then(([code]): ProcessResult => {
    outputs.push(stdout, stderr);
    return { code: code as number | null, stdout, stderr };
  });
  const lines = (): readonly LogLine[] =>
    stdout
      .slice(0, stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine);
  return {
    lines,
    get: async (path) => {
      const url = await waitFor(`the address of the program, after ${stderr}`, () => {
        if (child.exitCode !== null) throw new Error(`the program ended with ${String(child.exitCode)}: ${stderr}`);
        return lines().find(({ http }) => http !== undefined)?.http;
      });
      return await responseOf(`${url}${path}`);
    },
    ended: whenEnded,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await whenEnded;
    },
  };
}

/**
 * Runs the same indexer inside the test process, with a twentieth of the CPU time. It has no exit code and no output
 * apart from its log.
 */
export async function startInProcess(env: Readonly<Record<string, string>>): Promise<RunningIndexer> {
  const run = await runIndexer({ POSTGRES_SCHEMA: schema, ...env });
  return {
    lines: () => run.log.map((line) => JSON.parse(line) as LogLine),
    get: (path) => responseOf(`${run.httpUrl}${path}`),
    [Symbol.asyncDispose]: async () => {
      await run[Symbol.asyncDispose]();
      outputs.push(run.log.join(''));
    },
  };
}

async function responseOf(url: string): Promise<Answer> {
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

/** Runs a command to its end inside the test process. */
export async function runCommandToEnd(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<ProcessResult> {
  // Silent, because the log would go to the output of the test.
  const base = { POSTGRES_SCHEMA: schema, INDEXER_HTTP_PORT: '0', INDEXER_LOG_LEVEL: 'silent' };
  const processResult = await programInProcess(args, { ...base, ...env });
  outputs.push(processResult.stdout, processResult.stderr);
  return processResult;
}

/** Runs the program to its end. */
export async function runToEnd(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<ProcessResult> {
  await using run = startRun(env, args);
  return await run.ended;
}

/** Number of stored updates and contracts; also 0 if the tables do not exist. */
export async function rowsStored(url: string): Promise<number> {
  const tables = await query(url, `select from pg_tables where schemaname = '${schema}' and tablename = 'updates'`);
  if (tables.length === 0) return 0;
  const counts = await query(
    url,
    `select ((select count(*) from ${schema}.updates) + (select count(*) from ${schema}.contracts))::int as stored`,
  );
  return Number(counts[0]?.['stored']);
}
