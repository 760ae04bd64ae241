/**
 * The demo's ledger: a sandbox with a month of history and live traffic that survives restarts. Its state is a function
 * of how it began and of the journal (how many steps were made, what was submitted in between), so a restart plays the
 * same history again.
 */
import { existsSync } from 'node:fs';
import { startChaos } from './demo/chaos.ts';
import type { ChaosOptions } from './demo/chaos.ts';
import { Journal, readJournal } from './demo/journal.ts';
import type { Beginning, Entry, Told } from './demo/journal.ts';
import { LiveSchedule } from './demo/live-schedule.ts';
import type { Stretch } from './demo/live-schedule.ts';
import { licensingTemplates } from './demo/licensing-templates.ts';
import { monthBefore, playMonth } from './demo/month.ts';
import { licensingUpgrade } from './demo/packages/applications.ts';
import { Play } from './demo/play.ts';
import { tempoBefore } from './demo/tempo.ts';
import { LedgerFailure } from './failure.ts';
import { perform } from './perform.ts';
import { Random } from './random.ts';
import { startSandbox } from './sandbox.ts';
import type { Sandbox } from './sandbox.ts';

export interface DemoLedgerOptions {
  readonly seed: number;
  readonly updatesPerSecond: number;
  readonly port?: number;
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** Serve the sandbox's own endpoints, see SandboxOptions. */
  readonly admin?: boolean;
  /** File of the journal, made if missing. Without it nothing survives the process. */
  readonly journal?: string;
  /** The demo makes no more updates than these, the month included. Default: it never ends. */
  readonly stopAt?: number;
  /** When live traffic begins and the month before it ends, milliseconds since 1970. Default now. */
  readonly startAt?: number;
  /** Make trouble now and then. Default none. */
  readonly chaos?: Pick<ChaosOptions, 'slowDatabase' | 'report' | 'everyMs'>;
}

export interface DemoLedger {
  readonly url: string;
  ledgerEnd(): number;
  /** The highest pruned offset; 0 when the whole history is there. */
  prunedTo(): number;
  /** Updates the demo has made; what clients submit comes on top. */
  updates(): number;
  close(): Promise<void>;
}

/** What users begin in the month; what follows from it and the rounds come on top. */
const plannedUpdates = 2_500;
/** A smaller demo plans this share of its updates. */
const plannedShare = 0.3;
/** When the licensing package is upgraded: so long after the live traffic begins, or before it. Microseconds. */
const upgradeAfter = 45_000_000;
const upgradeBefore = 3_600_000_000;
/** Renewals that are under way when the live traffic begins, and how long before it they are asked for. */
const renewalsUnderWay = [50, 40, 30, 20, 10].map((seconds) => seconds * 1_000_000);
/** Behind the clock by more than this, the traffic goes on from now instead of making up for it. Microseconds. */
const patience = 5_000_000;
const tickMs = 20;
/** Offsets a demo keeps when it prunes: hours of traffic, in bounded memory. */
const keptOffsets = 100_000;
/** Updates after which a restart would take too long to play them again. */
const longestReplay = 60_000;

/**
 * Whether a demo of this journal begins anew instead of going on: it has grown too long to be played again, or another
 * version wrote it. False when there is no journal.
 */
export function isOver(journal: string): boolean {
  if (!existsSync(journal)) return false;
  return (readJournal(journal)?.steps ?? Infinity) > longestReplay;
}

/** Starts the demo's ledger: its history is complete when the promise resolves. */
export async function startDemoLedger(options: DemoLedgerOptions): Promise<DemoLedger> {
  const sandbox = await startSandbox({
    seed: options.seed,
    port: options.port ?? 0,
    ...(options.host === undefined ? {} : { host: options.host }),
    admin: options.admin ?? false,
    limits: { checkpointIntervalMs: 15_000 },
  });
  const { ledger } = sandbox;
  const running = new RunningDemo(sandbox, options);
  const chaos = options.chaos;
  const calm =
    chaos === undefined ? undefined : startChaos({ ...chaos, sandbox, random: new Random(options.seed + 4) });
  return {
    url: sandbox.url,
    ledgerEnd: () => ledger.ledgerEnd(),
    prunedTo: () => ledger.prunedTo(),
    updates: () => running.steps,
    close: async () => {
      calm?.();
      running.stop();
      await sandbox.close();
    },
  };
}

class RunningDemo {
  readonly #sandbox: Sandbox;
  readonly #journal: Journal;
  readonly #play: Play;
  readonly #seed: number;
  readonly #stopAt: number;
  readonly #timer: NodeJS.Timeout | undefined;
  #schedule: LiveSchedule;
  #steps = 0;

  constructor(sandbox: Sandbox, options: DemoLedgerOptions) {
    const { seed, updatesPerSecond: perSecond } = options;
    this.#sandbox = sandbox;
    this.#seed = seed;
    this.#stopAt = options.stopAt ?? Infinity;
    this.#journal = new Journal(options.journal);
    const told = options.journal === undefined ? undefined : readJournal(options.journal);
    const beginning = told?.beginning ?? newBeginning(options);
    const { startAt } = beginning;
    this.#play = new Play(sandbox.ledger, { seed, tempo: tempoBefore(startAt, plannedUpdates / beginning.planned) });
    this.#schedule = new LiveSchedule(seed, { after: 0, at: startAt, perSecond: 0 });
    this.#playMonth(beginning);
    if (told === undefined) this.#journal.begin(beginning, this.#steps);
    else this.#replay(told);
    // Making the month took a while; only a demo that has to be the same every time begins at the very moment.
    const from = told === undefined && this.#stopAt < Infinity ? startAt : Date.now() * 1000;
    this.#goOn({ after: this.#steps, at: from, perSecond });
    this.#listen();
    if (perSecond > 0) this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  get steps(): number {
    return this.#steps;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#journal.close();
  }

  #playMonth({ seed, startAt, planned, most }: Beginning): void {
    const { market } = this.#play;
    const { ledger } = this.#sandbox;
    // A demo that ends has its upgrade at a fixed update, whatever its rate; the others have it before your eyes.
    const upgradeAt = startAt + (most < Number.MAX_SAFE_INTEGER ? -upgradeBefore : upgradeAfter);
    market.plan(upgradeAt, (at) => {
      ledger.model.vet(licensingUpgrade);
      for (const template of licensingTemplates(true)) ledger.model.register(template);
      return market.extraLicence(at);
    });
    for (const before of renewalsUnderWay) market.plan(startAt - before, market.renewal);
    const times = monthBefore(startAt - 3_000_000, planned, new Random(seed + 2));
    this.#steps = playMonth(this.#play, times, startAt, most);
  }

  #replay({ steps, entries }: Told): void {
    for (const entry of entries) {
      const { after } = 'live' in entry ? entry.live : entry;
      while (this.#steps < after) this.#step();
      this.#redo(entry);
    }
    while (this.#steps < steps) this.#step();
  }

  /** A submission that the ledger refused is in the journal too: it is refused again, with the same use of chance. */
  #redo(entry: Entry): void {
    if ('live' in entry) {
      this.#schedule = new LiveSchedule(this.#seed, entry.live);
      return;
    }
    try {
      if ('hosting' in entry) this.#sandbox.parties.host(entry.hosting, entry.hosting.at);
      else perform(this.#sandbox.ledger, entry);
    } catch (thrown) {
      if (!(thrown instanceof LedgerFailure)) throw thrown;
    }
  }

  #listen(): void {
    this.#sandbox.ledger.journal = (deed) => {
      this.#journal.write({ after: this.#steps, ...deed });
    };
    this.#sandbox.parties.journal = (hosting) => {
      this.#journal.write({ after: this.#steps, hosting });
    };
  }

  #goOn(live: Stretch): void {
    this.#journal.write({ live });
    this.#schedule = new LiveSchedule(this.#seed, live);
  }

  #tick(): void {
    const now = Date.now() * 1000;
    const perSecond = this.#schedule.perSecond;
    // A demo that ends at a given update gives the same ones however late it is.
    if (now - this.#schedule.next > patience && this.#stopAt === Infinity) {
      this.#goOn({ after: this.#steps, at: now, perSecond });
    }
    while (this.#schedule.next <= now && this.#steps < this.#stopAt) {
      this.#journal.count(this.#steps + 1);
      this.#step();
    }
  }

  #step(): void {
    const { ledger } = this.#sandbox;
    const at = this.#schedule.next;
    this.#schedule.advance();
    this.#steps += 1;
    this.#play.stepRecordedAt(at);
    const end = ledger.ledgerEnd();
    if (end - ledger.prunedTo() > 2 * keptOffsets) ledger.pruneTo(end - keptOffsets);
  }
}

function newBeginning({ seed, stopAt = Infinity, startAt }: DemoLedgerOptions): Beginning {
  const planned = Math.min(plannedUpdates, Math.max(1, Math.floor(stopAt * plannedShare)));
  const most = Math.min(stopAt, Number.MAX_SAFE_INTEGER);
  return { seed, startAt: (startAt ?? Date.now()) * 1000, planned, most };
}
