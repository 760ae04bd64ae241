/**
 * The demo's ledger: a sandbox with traffic that survives restarts. Its state is a function of the seed and of the
 * journal (when each step happened, what was submitted), so a restart replays the journal and shows the same history.
 * A journal line is on disk before the update it stands for can be seen.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Deed } from './deed.ts';
import { holdingInterface, instructionInterface } from './demo-model.ts';
import type { Hosting } from './parties/parties.ts';
import { perform } from './perform.ts';
import { startSandbox } from './sandbox.ts';
import { Steps } from './traffic.ts';

export interface DemoLedgerOptions {
  readonly seed: number;
  readonly updatesPerSecond: number;
  readonly port?: number;
  /** Serve the sandbox's own endpoints, see SandboxOptions. */
  readonly admin?: boolean;
  /** File of the journal, made if missing. Without it nothing survives the process. */
  readonly journal?: string;
}

export interface DemoLedger {
  readonly url: string;
  ledgerEnd(): number;
  close(): Promise<void>;
}

/** Interfaces of the demo's templates, as a filter names them. */
export const demoInterfaces: readonly string[] = [`#${holdingInterface}`, `#${instructionInterface}`];

/** Updates that a new demo begins with, and the mean time between them. */
const initialUpdates = 2_000;
const initialGapMs = 1_000;
const tickMs = 50;
/** Offsets a demo keeps when it prunes: hours of traffic, in bounded memory. */
const keptOffsets = 100_000;

type Entry = { readonly step: number } | { readonly hosting: Hosting & { readonly at: number } } | Deed;

export async function startDemoLedger(options: DemoLedgerOptions): Promise<DemoLedger> {
  const sandbox = await startSandbox({
    seed: options.seed,
    port: options.port ?? 0,
    admin: options.admin ?? false,
    limits: { checkpointIntervalMs: 15_000 },
  });
  const { ledger } = sandbox;
  const steps = new Steps(ledger, options.seed);
  const journal = new Journal(options.journal);
  const entries = journal.read();
  const step = (at: number): void => {
    steps.step(at);
    const end = ledger.ledgerEnd();
    if (end - ledger.prunedTo() > 2 * keptOffsets) ledger.pruneTo(end - keptOffsets);
  };
  for (const entry of entries) {
    if ('step' in entry) step(entry.step);
    else if ('hosting' in entry) sandbox.parties.host(entry.hosting, entry.hosting.at);
    else replay(() => perform(ledger, entry));
  }
  ledger.journal = (deed) => {
    journal.write(deed);
  };
  sandbox.parties.journal = (hosting) => {
    journal.write({ hosting });
  };
  const stepAt = (at: number): void => {
    journal.write({ step: at });
    step(at);
  };
  if (entries.length === 0) begin(stepAt, Date.now() * 1000);
  const timer = traffic(options.updatesPerSecond, () => {
    stepAt(ledger.clock());
  });
  return {
    url: sandbox.url,
    ledgerEnd: () => ledger.ledgerEnd(),
    close: async () => {
      clearInterval(timer);
      await sandbox.close();
    },
  };
}

/** A submission that the ledger refused is in the journal too: it is refused again, with the same use of chance. */
function replay(submit: () => unknown): void {
  try {
    submit();
  } catch {
    // Refused then, refused now.
  }
}

function begin(stepAt: (at: number) => void, nowMicros: number): void {
  const gap = initialGapMs * 1000;
  for (let done = initialUpdates; done > 0; done -= 1) stepAt(nowMicros - done * gap);
}

function traffic(updatesPerSecond: number, step: () => void): NodeJS.Timeout {
  let owed = 0;
  let last = performance.now();
  return setInterval(() => {
    const now = performance.now();
    owed = Math.min(owed + ((now - last) / 1000) * updatesPerSecond, Math.max(1, updatesPerSecond));
    last = now;
    for (; owed >= 1; owed -= 1) step();
  }, tickMs).unref();
}

class Journal {
  readonly #file: string | undefined;

  constructor(file: string | undefined) {
    this.#file = file;
  }

  /** A line cut short by a crash stands for an update that nobody saw. */
  read(): readonly Entry[] {
    if (this.#file === undefined) return [];
    mkdirSync(dirname(this.#file), { recursive: true });
    if (!existsSync(this.#file)) return [];
    const text = readFileSync(this.#file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) writeFileSync(this.#file, whole);
    return whole
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry);
  }

  write(entry: Entry): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }
}
