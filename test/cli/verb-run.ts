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

export class Captured extends Writable {
  text = '';
  readonly isTTY: boolean;
  #left: number;

  constructor({ isTTY = false, writes = Number.POSITIVE_INFINITY }: RunOptions) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
    this.#left = writes;
  }

  override _write(chunk: string, _encoding: string, done: (error?: Error) => void): void {
    this.#left -= 1;
    if (this.#left < 0) return done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    this.text += chunk;
    return done();
  }

  get rows(): unknown[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  }
}

export interface Running {
  readonly stdout: Captured;
  readonly done: Promise<unknown>;
}

/** Starts a subcommand in this process, as the program does. */
export function start(argv: readonly string[], options: RunOptions): Running {
  const stdout = new Captured(options);
  const stdin = Readable.from([options.stdin ?? '']);
  const stop = options.stop ?? new AbortController().signal;
  const done = runCommand(ledgerCommand, argv, options.env, { stdin, stdout, stop });
  done.catch(() => undefined);
  return { stdout, done };
}

/** Runs a subcommand to its end. */
export async function run(argv: readonly string[], options: RunOptions): Promise<Captured> {
  const { stdout, done } = start(argv, options);
  await done;
  return stdout;
}
