/** What has to be undone when the measurements end, in whatever way: steps run in reverse order, each once. */
import { say } from './figures/terminal.ts';

export interface Undo {
  /** Undoes this one now; later calls do nothing. */
  (): Promise<void>;
}

const steps: Undo[] = [];
let ending = false;

/** Whether the end has begun: from here on nothing new is started and nothing is reported. */
export function isEnding(): boolean {
  return ending;
}

/**
 * Registers a step. It runs at the end of the program, or earlier when the returned function is called.
 * @throws Error when the end has begun; the step has been started then
 */
export function onExit(step: () => Promise<void> | void): Undo {
  let done: Promise<void> | undefined;
  const undo = (): Promise<void> => {
    const at = steps.indexOf(undo);
    if (at >= 0) steps.splice(at, 1);
    done ??= (async () => {
      await step();
    })();
    return done;
  };
  if (ending) {
    undo().catch(() => undefined);
    throw new Error('the measurements are ending');
  }
  steps.push(undo);
  return undo;
}

/** Runs what is left. A step that fails is reported and does not stop the others. */
export async function undoAll(): Promise<void> {
  ending = true;
  for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
    await step().catch((thrown: unknown) => {
      process.stderr.write(`bench: cleaning up: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    });
  }
}

/** Runs `main` and ends the process. @param name of the command, for its failures */
export async function runToEnd(name: string, main: () => Promise<void>): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        reject(new Error(`ended by ${signal}`));
      });
    }
  });
  try {
    await Promise.race([main(), interrupted]);
  } catch (thrown) {
    say('');
    process.stderr.write(`${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    process.exitCode = 1;
  } finally {
    await undoAll();
  }
  // An interrupted run may still wait for something that is gone by now.
  return process.exit();
}
