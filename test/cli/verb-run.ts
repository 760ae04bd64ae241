/** Runs subcommands of `ledger-indexer ledger` in this process, with an output that a test can read or break. */
import { Readable, Writable } from 'node:stream';
import { ledgerCommand } from '../../src/cli/ledger/ledger.ts';
import { runCommand } from '../support/run-command.ts';

export interface RunOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin?: string;
  readonly isTTY?: boolean;
  readonly stop?: AbortSignal;
  /** Number of writes that succeed. Later writes fail as if the reader had closed the pipe. */
  readonly writes?: number;
}

export class CapturedOutput extends Writable {
  text = '';
  readonly isTTY: boolean;
  #left: number;

  constructor({ isTTY = false, writes = Number.POSITIVE_INFINITY }: RunOptions) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
    this.#left = writes;
  }

  override _write(chunk: string, _encoding: string, callback: (error?: Error) => void): void {
    this.#left -= 1;
    if (this.#left < 0) return callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    this.text += chunk;
    return callback();
  }

  get rows(): unknown[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  }
}

export interface RunningVerb {
  readonly stdout: CapturedOutput;
  readonly done: Promise<unknown>;
}

/** Starts a subcommand in this process, as the program does. */
export function start(argv: readonly string[], options: RunOptions): RunningVerb {
  const stdout = new CapturedOutput(options);
  const stdin = Readable.from([options.stdin ?? '']);
  const stop = options.stop ?? new AbortController().signal;
  const whenDone = runCommand(ledgerCommand, argv, options.env, { stdin, stdout, stop });
  whenDone.catch(() => undefined);
  return { stdout, done: whenDone };
}

/** Runs a subcommand to its end. */
export async function run(argv: readonly string[], options: RunOptions): Promise<CapturedOutput> {
  const { stdout, done: whenDone } = start(argv, options);
  await whenDone;
  return stdout;
}
