/**
 * The ledger of the demo: a sandbox with a month of history and live traffic. After a restart, it has the same history.
 * It loads a snapshot, or starts from the beginning, and then replays the journal, which contains the number of steps
 * and the submissions between them. It keeps only the newest updates and the active contracts.
 */
import { existsSync, rmSync } from 'node:fs';
import { startChaos } from './chaos.ts';
import type { ChaosOptions } from './chaos.ts';
import { Journal, readJournal } from './journal.ts';
import type { Beginning, Entry, JournalContents } from './journal.ts';
import { LiveSchedule } from './live-schedule.ts';
import type { PeriodStart } from './live-schedule.ts';
import { monthActions, sizeOf, tempoOf } from './history.ts';
import { monthHours, playMonth, timesBefore } from './month.ts';
import { TrafficPlay } from './play.ts';
import { readSnapshot, snapshotHead, snapshotOf, writeSnapshot } from './snapshot.ts';
import type { Snapshot, SnapshotHead } from './snapshot.ts';
import { changingPrice, constantPrice } from './prices.ts';
import type { AuthOptions } from '../identity/authentication.ts';
import { LedgerFailure } from '../wire/failure.ts';
import { perform } from '../ledger/perform.ts';
import { Random } from '../wire/random.ts';
import { startSandbox } from './sandbox.ts';
import type { Sandbox } from '../server/sandbox.ts';

export { demoParticipantId } from './market/participant-id.ts';

export interface DemoLedgerOptions {
  readonly seed: number;
  readonly updatesPerSecond: number;
  /** Whether the rate is constant. Default: it oscillates, and there are pauses. */
  readonly isSteady?: boolean;
  /** Tokens and users, see SandboxOptions. */
  readonly auth?: AuthOptions;
  readonly port?: number;
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** Whether to serve the sandbox's own endpoints, see SandboxOptions. */
  readonly admin?: boolean;
  /** File of the journal, created if missing. If absent, no data is kept after the process has ended. */
  readonly journal?: string;
  /** Maximum number of updates, including the month. Default: no maximum. */
  readonly maxUpdates?: number;
  /** Start of live traffic and end of the month before it, milliseconds since 1970. Default now. */
  readonly startAt?: number;
  /**
   * Begin of the history before `startAt`, milliseconds since 1970, and its approximate number of updates (default
   * 15,000). Default: a month.
   */
  readonly history?: { readonly from: number; readonly updates?: number };
  /** The clock of the demo, milliseconds since 1970. Default the system clock. */
  readonly now?: () => number;
  /** How much history to keep. */
  readonly keeps?: Keeps;
  /** Injects faults at intervals; default: none. */
  readonly chaos?: Pick<ChaosOptions, 'slowDatabase' | 'report' | 'everyMs'>;
}

/** How much history a demo keeps. */
export interface Keeps {
  /** Number of readable offsets. The oldest are pruned when there are ten percent more. */
  readonly offsets: number;
  /**
   * Maximum number of steps and journal entries that a start may have to replay. At this number a snapshot is written.
   */
  readonly tail: number;
}

export interface DemoLedger {
  readonly url: string;
  ledgerEnd(): number;
  /** The highest pruned offset; 0 if no history was pruned. */
  prunedTo(): number;
  /** Number of updates that the demo has made, without submissions of clients. */
  updates(): number;
  close(): Promise<void>;
}

/** Planned actions of a smaller demo, as a share of its updates. */
const plannedShare = 0.3;
/** Minimum number of planned actions of a demo with locks and names, which would fill a smaller one. */
const leastForPlans = 500;
/** Time from the start of live traffic to the upgrade of the licensing package, microseconds. */
const upgradeAfter = 45_000_000;
const upgradeBefore = 3_600_000_000;
/** For renewals that are in progress when live traffic starts, how long before they were requested, microseconds. */
const renewalsUnderWay = [50, 40, 30, 20, 10].map((seconds) => seconds * 1_000_000);
/** Maximum lag behind the clock, microseconds. Beyond it, the traffic continues from now instead of catching up. */
const maxLagMicros = 5_000_000;
const tickMs = 20;
/**
 * Half an hour of traffic at the usual rate, and at most the same amount to replay. Measurements are in
 * docs/how-to/integrate/test-your-app.md.
 */
const defaultKeeps: Keeps = { offsets: 10_000, tail: 10_000 };

/**
 * Whether a demo with this journal begins again instead of continuing, because another version wrote it or its snapshot
 * cannot be read. False if there is no journal.
 */
export function startsOver(journal: string): boolean {
  return existsSync(journal) && readJournalState(journal) === undefined;
}

/** Contents of a journal, with its snapshot if it has one. */
interface JournalState {
  readonly contents: JournalContents;
  readonly snapshot: SnapshotHead | undefined;
}

function readJournalState(journal: string): JournalState | undefined {
  const journalContents = readJournal(journal);
  if (journalContents === undefined) return undefined;
  const head = snapshotHead(snapshotOf(journal));
  const { generation } = journalContents;
  // The process may have ended after it wrote the snapshot and before it began the next journal.
  const isCompatible =
    head?.startAt === journalContents.beginning.startAt && [generation, generation + 1].includes(head.generation);
  if (!isCompatible && generation > 0) return undefined;
  return { contents: journalContents, snapshot: isCompatible ? head : undefined };
}

/** Starts the demo's ledger. Its history is complete once the promise resolves. */
export async function startDemoLedger(options: DemoLedgerOptions): Promise<DemoLedger> {
  const sandbox = await startSandbox({
    seed: options.seed,
    port: options.port ?? 0,
    ...(options.host === undefined ? {} : { host: options.host }),
    admin: options.admin ?? false,
    limits: { checkpointIntervalMs: 15_000 },
    ...(options.now === undefined ? {} : { now: options.now }),
    ...(options.auth === undefined ? {} : { auth: options.auth }),
  });
  const { ledger } = sandbox;
  const runningDemo = new RunningDemo(sandbox, options);
  const chaos = options.chaos;
  const chaosHandle =
    chaos === undefined ? undefined : startChaos({ ...chaos, sandbox, random: new Random(options.seed + 4) });
  return {
    url: sandbox.url,
    ledgerEnd: () => ledger.ledgerEnd(),
    prunedTo: () => ledger.prunedTo(),
    updates: () => runningDemo.steps,
    close: async () => {
      chaosHandle?.();
      runningDemo.stop();
      await sandbox.close();
    },
  };
}

class RunningDemo {
  readonly #sandbox: Sandbox;
  readonly #journal: Journal;
  readonly #beginning: Beginning;
  readonly #play: TrafficPlay;
  readonly #keeps: Keeps;
  /** Undefined if nothing is kept after the process has ended. */
  readonly #snapshotFile: string | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #maxUpdates: number;
  readonly #now: () => number;
  #schedule: LiveSchedule;
  #generation: number;
  #steps = 0;
  /** Number of steps at the start of this generation of the journal. */
  #stepsBefore = 0;

  constructor(sandbox: Sandbox, options: DemoLedgerOptions) {
    const { seed, updatesPerSecond: perSecond, isSteady, journal } = options;
    const journalState = journal === undefined ? undefined : readJournalState(journal);
    const { beginning: firstLine = newBeginning(options), generation = 0, entries = [] } = journalState?.contents ?? {};
    this.#sandbox = sandbox;
    this.#beginning = firstLine;
    this.#keeps = options.keeps ?? defaultKeeps;
    this.#maxUpdates = options.maxUpdates ?? Infinity;
    this.#now = options.now ?? Date.now;
    this.#snapshotFile = journal === undefined ? undefined : snapshotOf(journal);
    this.#journal = new Journal(journal, entries.length);
    this.#generation = generation;
    const { startAt, planned: plannedCount, hours } = firstLine;
    this.#play = new TrafficPlay(sandbox.ledger, {
      seed,
      tempo: tempoOf(firstLine, startAt),
      prices: hours === monthHours ? constantPrice : changingPrice,
      ...(plannedCount < leastForPlans ? {} : { plans: { liveFrom: startAt } }),
    });
    this.#schedule = new LiveSchedule(firstLine.seed, { after: 0, at: startAt, perSecond: 0 });
    if (journalState === undefined) this.#begin();
    else this.#goBackTo(journalState);
    // Generating the month took a while. Only a reproducible demo begins at the configured time.
    const from = journalState === undefined && this.#maxUpdates < Infinity ? startAt : this.#now() * 1000;
    this.#goOn({ after: this.#steps, at: from, perSecond, ...(isSteady === undefined ? {} : { isSteady }) });
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

  #begin(): void {
    // The demo begins again, without this snapshot.
    if (this.#snapshotFile !== undefined) rmSync(this.#snapshotFile, { force: true });
    this.#playMonth();
    this.#journal.begin(this.#beginning, 0, this.#steps);
  }

  #goBackTo({ contents, snapshot }: JournalState): void {
    if (snapshot === undefined || this.#snapshotFile === undefined) this.#playMonth();
    else this.#load(this.#snapshotFile, snapshot);
    const completedSteps = snapshot?.generation === contents.generation ? 0 : (snapshot?.entries ?? 0);
    this.#replay(contents.steps, contents.entries.slice(completedSteps));
  }

  #load(file: string, { steps }: SnapshotHead): void {
    const { ledger, parties, play, schedule } = readSnapshot(file);
    this.#sandbox.ledger.load(ledger);
    this.#sandbox.parties.load(parties);
    this.#play.load(play);
    this.#schedule = LiveSchedule.loaded(this.#beginning.seed, schedule);
    this.#steps = steps;
    this.#stepsBefore = steps;
  }

  #playMonth(): void {
    const { market } = this.#play;
    const { seed, startAt, planned: count, hours, most: maxOffsets } = this.#beginning;
    // In a demo with an end, the upgrade is at a fixed update, whatever its rate. In other demos it happens while the
    // user watches.
    const upgradeAt = startAt + (maxOffsets < Number.MAX_SAFE_INTEGER ? -upgradeBefore : upgradeAfter);
    market.plan(upgradeAt, { what: 'upgrade-licensing' });
    for (const elapsedMicros of renewalsUnderWay) market.plan(startAt - elapsedMicros, { what: 'renew' });
    const times = timesBefore(startAt - 3_000_000, { hours, count }, new Random(seed + 2));
    this.#steps = playMonth(this.#play, times, startAt, maxOffsets);
  }

  #replay(steps: number, entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { after } = 'live' in entry ? entry.live : entry;
      while (this.#steps < after) this.#step();
      this.#redo(entry);
    }
    while (this.#steps < steps) this.#step();
  }

  /**
   * Performs an action of the journal again. The journal also contains refused submissions. They are refused again, and
   * use the same random numbers.
   */
  #redo(entry: Entry): void {
    if ('live' in entry) {
      this.#schedule = new LiveSchedule(this.#beginning.seed, entry.live);
      return;
    }
    this.#prune();
    try {
      if ('hosting' in entry) this.#sandbox.parties.host(entry.hosting, entry.hosting.at);
      else perform(this.#sandbox.ledger, entry);
    } catch (error) {
      if (!(error instanceof LedgerFailure)) throw error;
    }
  }

  #listen(): void {
    this.#sandbox.ledger.journal = (action) => this.#note({ after: this.#steps, ...action });
    this.#sandbox.parties.journal = (hosting) => this.#note({ after: this.#steps, hosting });
  }

  /** Writes an action of a client to the journal. */
  #note(entry: Entry): void {
    this.#forget();
    this.#journal.write(entry);
  }

  #goOn(period: PeriodStart): void {
    this.#journal.write({ live: period });
    this.#schedule = new LiveSchedule(this.#beginning.seed, period);
  }

  #tick(): void {
    const now = this.#now() * 1000;
    // A demo that ends at a given update generates the same updates, even if it is behind the clock.
    if (now - this.#schedule.next > maxLagMicros && this.#maxUpdates === Infinity) {
      this.#goOn({ ...this.#schedule.period, after: this.#steps, at: now });
    }
    while (this.#schedule.next <= now && this.#steps < this.#maxUpdates) {
      this.#journal.count(this.#steps + 1);
      this.#step();
      this.#forget();
    }
  }

  #step(): void {
    const at = this.#schedule.next;
    this.#schedule.advance();
    this.#steps += 1;
    this.#play.stepRecordedAt(at);
    this.#prune();
  }

  /** Prunes old updates as a participant does. Active contracts are kept. */
  #prune(): void {
    const { ledger } = this.#sandbox;
    const end = ledger.ledgerEnd();
    const { offsets } = this.#keeps;
    if (end - ledger.prunedTo() > offsets * 1.1) ledger.pruneTo(end - offsets);
  }

  /** Replaces a long journal with a snapshot. */
  #forget(): void {
    this.#prune();
    if (this.#snapshotFile === undefined) return;
    if (this.#steps - this.#stepsBefore + this.#journal.entries < this.#keeps.tail) return;
    const generation = this.#generation + 1;
    const { entries } = this.#journal;
    const { startAt } = this.#beginning;
    writeSnapshot(this.#snapshotFile, { startAt, generation, entries, steps: this.#steps }, this.#saved());
    // A start from this snapshot continues after the entries of the old journal, or at the beginning of the new one.
    this.#journal.begin(this.#beginning, generation, this.#steps);
    this.#generation = generation;
    this.#stepsBefore = this.#steps;
  }

  #saved(): Snapshot {
    const { ledger, parties } = this.#sandbox;
    return {
      ledger: ledger.save(),
      parties: parties.save(),
      play: this.#play.save(),
      schedule: this.#schedule.save(),
    };
  }
}

function newBeginning({ seed, maxUpdates = Infinity, history, ...options }: DemoLedgerOptions): Beginning {
  const { now = Date.now, startAt = now() } = options;
  const size =
    history === undefined
      ? { hours: monthHours, planned: monthActions }
      : sizeOf({ ...history, startAt: history.from, now: startAt });
  const planned = Math.min(size.planned, Math.max(1, Math.floor(maxUpdates * plannedShare)));
  return {
    seed,
    startAt: startAt * 1000,
    planned,
    hours: size.hours,
    most: Math.min(maxUpdates, Number.MAX_SAFE_INTEGER),
  };
}
