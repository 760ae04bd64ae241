/**
 * The built program as a child process, as an operator runs it: started with environment variables, observed through
 * its log and HTTP endpoints, and ended by signals. It never outlives the test that started it.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../../support/wait-for.ts';

/** Path of the compiled program. For tests that were compiled together with the program, it is next to them. */
const program = ['../../../dist/main.js', '../../../src/main.js']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

export interface DaemonOptions {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly schema: string;
  /** A command and its flags; by default the daemon runs. */
  readonly argv?: readonly string[];
  /** Additional variables, such as INDEXER_BATCH_UPDATES. */
  readonly env?: Readonly<Record<string, string>>;
  /** Path of `dist/main.js` of another build. */
  readonly program?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Daemon extends AsyncDisposable {
  /** Resolves when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>;
  /** Undefined if the process could not be started. */
  readonly pid: number | undefined;
  /** Undefined while the process runs. */
  exit(): Exit | undefined;
  /** Its output so far, stdout and stderr. */
  output(): string;
  /** Waits for a log line with this message. Phases are such messages: `seeding`, `catching up`, `standby`. */
  logged(message: string): Promise<void>;
  /** Waits for the base URL of its HTTP endpoints. */
  http(): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  /** Kills the process, as a power failure would, and waits for its end. */
  kill(): Promise<void>;
}

interface LogLine {
  readonly msg?: unknown;
  readonly http?: unknown;
}

/** @throws Error with the remedy if the program was not built. */
export function assertBuilt(): void {
  if (program === undefined)
    throw new Error('dist/main.js is missing: run `npm run build` before the end-to-end tests');
}

/** Starts `dist/main.js` on a free port with JSON logs, without the environment variables of the caller. */
export function startDaemon(options: DaemonOptions): Daemon {
  if (options.program === undefined) assertBuilt();
  const child = spawn(process.execPath, [options.program ?? program ?? '', ...(options.argv ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      LEDGER_URL: options.ledgerUrl,
      DATABASE_URL: options.databaseUrl,
      POSTGRES_SCHEMA: options.schema,
      INDEXER_HTTP_PORT: '0',
      INDEXER_LOG_FORMAT: 'json',
      INDEXER_RETRY_MAX_DELAY: '200ms',
      ...options.env,
    },
  });
  let output = '';
  let exit: Exit | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const whenExited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      exit = { code, signal };
      resolve(exit);
    });
  });
  const find = <T>(subject: string, selectValue: (line: LogLine) => T | undefined): Promise<T> => {
    // Parse each line only once, however often the output is searched.
    let from = 0;
    return waitFor(subject, () => {
      const to = output.lastIndexOf('\n') + 1;
      const picked = firstOf(output.slice(from, to), selectValue);
      from = to;
      if (picked === undefined && exit !== undefined) throw describeEarlyExit(subject, exit, output);
      return picked;
    });
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await whenExited;
  };
  return {
    pid: child.pid,
    exited: whenExited,
    exit: () => exit,
    output: () => output,
    logged: async (message) => {
      await find(`the daemon logs "${message}"`, (line) => (line.msg === message ? true : undefined));
    },
    http: () => find('the daemon listens', ({ http }) => (typeof http === 'string' ? http : undefined)),
    signal: (signal) => {
      child.kill(signal);
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

function firstOf<T>(output: string, selectValue: (line: LogLine) => T | undefined): T | undefined {
  for (const line of output.split('\n')) {
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    const picked = selectValue(JSON.parse(line) as LogLine);
    if (picked !== undefined) return picked;
  }
  return undefined;
}

function describeEarlyExit(subject: string, { code, signal }: Exit, output: string): Error {
  return new Error(`the daemon ended (${String(code ?? signal)}) before: ${subject}\n${output.slice(-2_000)}`);
}
