/** The replay server as the measuring process sees it: one per run, gone with the run. */
import { startChild, type Child } from '../child.ts';
import type { ReplayMessage, ReplayPlan } from './replay-plan.ts';

type MessageOf<K extends ReplayMessage['kind']> = Extract<ReplayMessage, { kind: K }>;

export interface Replay {
  readonly url: string;
  readonly pid: number;
  /** The next message of a kind, or the one that has come already. */
  message<K extends ReplayMessage['kind']>(kind: K): Promise<MessageOf<K>>;
  /** Rejects when the server ends by itself; never resolves. */
  readonly died: Promise<never>;
  readonly stop: () => Promise<void>;
}

/** Starts it and waits until it listens. */
export async function startReplay(plan: ReplayPlan): Promise<Replay> {
  const child = startChild({ file: 'replay/replay-server.js', args: [JSON.stringify(plan)] });
  const message = messagesOf(child);
  const { port } = await message('listening');
  return { url: `http://127.0.0.1:${String(port)}`, pid: child.pid, message, died: child.died, stop: child.stop };
}

function messagesOf(child: Child): Replay['message'] {
  const come = new Map<string, ReplayMessage>();
  const waiting = new Map<string, (message: ReplayMessage) => void>();
  child.process.on('message', (message) => {
    const known = message as ReplayMessage;
    come.set(known.kind, known);
    waiting.get(known.kind)?.(known);
  });
  return async <K extends ReplayMessage['kind']>(kind: K) => {
    const found =
      come.get(kind) ??
      (await Promise.race([
        child.died,
        new Promise<ReplayMessage>((resolve) => {
          waiting.set(kind, resolve);
        }),
      ]));
    return found as MessageOf<K>;
  };
}
