/**
 * Cleanup steps for the end of the measurements, whatever the reason for the end. They run in reverse order, each once.
 */
import { printStatus } from './figures/terminal.ts';

export interface CleanupStep {
  /** Runs this step now; later calls do nothing. */
  (): Promise<void>;
}

const steps: CleanupStep[] = [];
let hasEnded = false;

/** Whether the cleanup has begun. After that, no work is started and no result is reported. */
export function isEnding(): boolean {
  return hasEnded;
}

/**
 * Registers a step. It runs at the end of the program, or earlier when the returned function is called.
 * @throws Error if the cleanup has begun; the step is then run at once
 */
export function onExit(step: () => Promise<void> | void): CleanupStep {
  let undoResult: Promise<void> | undefined;
  const cleanupStep = (): Promise<void> => {
    const stepIndex = steps.indexOf(cleanupStep);
    if (stepIndex >= 0) steps.splice(stepIndex, 1);
    undoResult ??= (async () => {
      await step();
    })();
    return undoResult;
  };
  if (hasEnded) {
    cleanupStep().catch(() => undefined);
    throw new Error('the measurements are ending');
  }
  steps.push(cleanupStep);
  return cleanupStep;
}

/** Runs the remaining steps. A failing step is reported and does not stop the others. */
export async function undoAll(): Promise<void> {
  hasEnded = true;
  for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
    await step().catch((error: unknown) => {
      process.stderr.write(`bench: cleaning up: ${error instanceof Error ? error.message : String(error)}\n`);
    });
  }
}

/** Runs `main` and ends the process. @param name of the command, for messages about its failures */
export async function runToEnd(name: string, main: () => Promise<void>): Promise<never> {
  const whenInterrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        reject(new Error(`ended by ${signal}`));
      });
    }
  });
  try {
    await Promise.race([main(), whenInterrupted]);
  } catch (error) {
    printStatus('');
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    await undoAll();
  }
  // An interrupted run may still wait for a process that has ended.
  return process.exit();
}
