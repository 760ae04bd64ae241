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
  const keepLines = (chunk: Buffer): void => {
    lines.push(...chunk.toString().split('\n').filter(Boolean));
    lines.splice(0, lines.length - keptLines);
  };
  child.stdout?.on('data', keepLines);
  child.stderr?.on('data', keepLines);
  const whenExited = once(child, 'exit');
  const stop = onExit(() => end(child, whenExited));
  const whenDied = whenExited.then(([code, signal]) => {
    throw new Error(`${path} ended (${String(code ?? signal)}):\n${lines.join('\n')}`);
  });
  whenDied.catch(() => undefined);
  return { process: child, pid: child.pid ?? 0, lastLines: () => lines.join('\n'), died: whenDied, stop };
}

async function end(child: ChildProcess, whenExited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), timeLimitMs);
  await whenExited;
  clearTimeout(timer);
}

interface TypedMessage {
  readonly kind: string;
}

/**
 * Resolves to the newest message of a kind; if none has arrived, to the next one. Rejects if the process ends without
 * being stopped.
 */
export type MessageOfKind<M extends TypedMessage> = <K extends M['kind']>(kind: K) => Promise<Extract<M, { kind: K }>>;

/** Collects the messages of a process. Call it before the process can send messages. */
export function messagesOf<M extends TypedMessage>(child: Child): MessageOfKind<M> {
  const receivedMessages = new Map<string, M>();
  const pendingMessages = new Map<string, (message: M) => void>();
  child.process.on('message', (message) => {
    const receivedMessage = message as M;
    receivedMessages.set(receivedMessage.kind, receivedMessage);
    pendingMessages.get(receivedMessage.kind)?.(receivedMessage);
  });
  return async <K extends M['kind']>(kind: K) => {
    const waitingMessages =
      receivedMessages.get(kind) ??
      (await Promise.race([
        child.died,
        new Promise<M>((resolve) => {
          pendingMessages.set(kind, resolve);
        }),
      ]));
    return waitingMessages as Extract<M, { kind: K }>;
  };
}
