/** Processes of the measurements: started with a minimal environment, and reliably stopped. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onExit } from './cleanup.ts';

const timeLimitMs = 15_000;
const keptLines = 12;

export interface ChildOptions {
  /** Compiled file in the same folder as this one, or an absolute path. */
  readonly file: string;
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The last lines of its output, for the reason why it ended. */
  lastLines(): string;
  /** Rejects if the process ends without being stopped; never resolves. */
  readonly died: Promise<never>;
  /** Sends SIGTERM, and SIGKILL if the process has not ended after 15 s. */
  readonly stop: () => Promise<void>;
}

/** Starts a Node program with a message channel. Its output is discarded, except for the last lines. */
export function startChild({ file, args = [], nodeArgs = [], env = {} }: ChildOptions): Child {
  const path = file.startsWith('/') ? file : fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [...nodeArgs, path, ...args], {
    // The variables of this shell are not part of the experiment.
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
    // A process group of its own, so that Ctrl-C reaches only the measuring process, which stops the others in order.
    detached: true,
  });
  const lines: string[] = [];
  const remember = (chunk: Buffer): void => {
    lines.push(...chunk.toString().split('\n').filter(Boolean));
    lines.splice(0, lines.length - keptLines);
  };
  child.stdout?.on('data', remember);
  child.stderr?.on('data', remember);
  const exited = once(child, 'exit');
  const stop = onExit(() => end(child, exited));
  const died = exited.then(([code, signal]) => {
    throw new Error(`${path} ended (${String(code ?? signal)}):\n${lines.join('\n')}`);
  });
  died.catch(() => undefined);
  return { process: child, pid: child.pid ?? 0, lastLines: () => lines.join('\n'), died, stop };
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), timeLimitMs);
  await exited;
  clearTimeout(timer);
}

interface Kinded {
  readonly kind: string;
}

/**
 * Resolves to the newest message of a kind; if none has arrived, to the next one. Rejects if the process ends without
 * being stopped.
 */
export type MessageBy<M extends Kinded> = <K extends M['kind']>(kind: K) => Promise<Extract<M, { kind: K }>>;

/** Collects the messages of a process. Call it before the process can send messages. */
export function messagesOf<M extends Kinded>(child: Child): MessageBy<M> {
  const come = new Map<string, M>();
  const waiting = new Map<string, (message: M) => void>();
  child.process.on('message', (message) => {
    const known = message as M;
    come.set(known.kind, known);
    waiting.get(known.kind)?.(known);
  });
  return async <K extends M['kind']>(kind: K) => {
    const found =
      come.get(kind) ??
      (await Promise.race([
        child.died,
        new Promise<M>((resolve) => {
          waiting.set(kind, resolve);
        }),
      ]));
    return found as Extract<M, { kind: K }>;
  };
}
