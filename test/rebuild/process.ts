/** `ledger-indexer rebuild` as a separate process, observed through its output and ended by signals. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../support/wait-for.ts';

/** Path of the built program. Tests that were compiled together with it use that build. */
const program = ['../../dist/main.js', '../../src/main.js']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path));

/** Message before each step, in order. */
export const steps = [
  'seeding',
  'catching up',
  'preparing the swap',
  'requesting the writer lock',
  'stopping the live writer',
  'locking',
  'carrying',
  'renaming',
  're-creating views',
  'committing',
] as const;

export interface RebuildTarget {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface RebuildProcess {
  output(): string;
  /** Waits until the process prints this message or step. @throws Error if it ends before */
  says(step: string): Promise<void>;
  /** Exit code of the process; null if it was killed. */
  ended(): Promise<number | null>;
  isOver(): boolean;
  kill(): Promise<void>;
}

/** Starts `rebuild WORDS` of the built program. */
export function startRebuild({ ledgerUrl, databaseUrl, env }: RebuildTarget, args: readonly string[]): RebuildProcess {
  if (program === undefined) throw new Error('dist/main.js is missing: run `npm run build` before these tests');
  const child = spawn(process.execPath, [program, 'rebuild', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      LEDGER_URL: ledgerUrl,
      DATABASE_URL: databaseUrl,
      INDEXER_LOG_FORMAT: 'json',
      INDEXER_RETRY_MAX_DELAY: '200ms',
      INDEXER_LEASE: '2s',
      ...env,
    },
  });
  let output = '';
  let isOver = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const whenEnded = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      isOver = true;
      resolve(code);
    });
  });
  return {
    output: () => output,
    says: async (step) => {
      await waitFor(`rebuild says ${step}`, () => {
        if (output.includes(`"msg":"${step}"`) || output.includes(`"step":"${step}","msg":"swap"`)) return true;
        if (isOver) throw new Error(`rebuild ended before ${step}: ${output.slice(-2_000)}`);
        return undefined;
      });
    },
    ended: () => whenEnded,
    isOver: () => isOver,
    kill: async () => {
      child.kill('SIGKILL');
      await whenEnded;
    },
  };
}
