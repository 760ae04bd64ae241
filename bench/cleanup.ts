/**
 * Cleanup steps for the end of the measurements, whatever the reason for the end. They run in reverse order, each once.
 */
import { say } from './figures/terminal.ts';

export interface Undo {
  /** Runs this step now; later calls do nothing. */
  (): Promise<void>;
}

const steps: Undo[] = [];
let ending = false;

/** Whether the cleanup has begun. After that, no work is started and no result is reported. */
export function isEnding(): boolean {
  return ending;
}

/**
 * Registers a step. It runs at the end of the program, or earlier when the returned function is called.
 * @throws Error if the cleanup has begun; the step is then run at once
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

/** Runs the remaining steps. A failing step is reported and does not stop the others. */
export async function undoAll(): Promise<void> {
  ending = true;
  for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
    await step().catch((thrown: unknown) => {
      process.stderr.write(`bench: cleaning up: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    });
  }
}

/** Runs `main` and ends the process. @param name of the command, for messages about its failures */
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
  // An interrupted run may still wait for a process that has ended.
  return process.exit();
}
