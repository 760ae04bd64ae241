/** The replay server as used by the measuring process. There is one per run, and it is stopped with the run. */
import { messagesOf, startChild, type MessageOfKind } from '../child.ts';
import type { ReplayMessage, ReplayPlan } from './replay-plan.ts';

export interface Replay {
  readonly url: string;
  readonly pid: number;
  /** Resolves to the next message of a kind, or to the one that has already arrived. */
  readonly message: MessageOfKind<ReplayMessage>;
  /** Rejects if the server ends without being stopped; never resolves. */
  readonly died: Promise<never>;
  /** Releases a held stream of updates. */
  readonly release: () => void;
  readonly stop: () => Promise<void>;
}

/** Starts a replay server and waits until it listens. */
export async function startReplay(plan: ReplayPlan): Promise<Replay> {
  const child = startChild({ file: 'replay/replay-server.js', args: [JSON.stringify(plan)] });
  const message = messagesOf<ReplayMessage>(child);
  const { port } = await message('listening');
  const release = (): void => void child.process.send('release');
  return {
    url: `http://127.0.0.1:${String(port)}`,
    pid: child.pid,
    message,
    died: child.died,
    release,
    stop: child.stop,
  };
}
