/** What processes of the measurements tell, by kind. */
import type { Child } from './child.ts';

interface Kinded {
  readonly kind: string;
}

/** The newest message of a kind, or the next one where none has come. Rejects when the process ends by itself. */
export type MessageBy<M extends Kinded> = <K extends M['kind']>(kind: K) => Promise<Extract<M, { kind: K }>>;

/** To be called before the process can have told anything. */
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
