/**
 * Monitors the indexer from outside during all attempts. It measures how long the checkpoint did not move although the
 * ledger was ahead, and how long `/livez` took. Flood clients run in other processes, so that they do not delay these
 * measurements.
 */
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import type { Client } from 'pg';
import { pause, waitFor } from '../../support/wait-for.ts';
import { connected } from './server.ts';

const everyMs = 100;
const livezEveryMs = 500;
/** Time limit of a `/livez` probe. A slower response counts as this long. */
const livezLimitMs = 30_000;

export interface Observation {
  /** Longest time in seconds that the checkpoint did not move while the ledger was ahead. */
  readonly stoppedSeconds: number;
  /**
   * Longest response time of `/livez` in seconds, minus the time in which the indexer waited for a processor. Load from
   * other processes, such as the attackers, is not a fault of the indexer.
   */
  readonly livezSeconds: number;
  /** Longest response time of `/livez` in seconds, including that wait. */
  readonly totalLivezSeconds: number;
}

/** The indexer that is currently running. */
export interface WatchedServer {
  readonly url: string;
  readonly pid: number;
}

export class Watcher implements AsyncDisposable {
  readonly #databaseUrl: string;
  readonly #ledgerUrl: string;
  readonly #indexer: () => WatchedServer;
  readonly #loops: readonly Promise<void>[];
  #client: Client | undefined;
  #ended = false;
  #checkpoint = -1;
  #isBehind = false;
  /** When the checkpoint last moved, or last equaled the ledger end. */
  #movedAt = performance.now();
  #stoppedMs = 0;
  #livezMs = 0;
  #wholeLivezMs = 0;

  constructor(databaseUrl: string, ledgerUrl: string, indexer: () => WatchedServer) {
    [this.#databaseUrl, this.#ledgerUrl, this.#indexer] = [databaseUrl, ledgerUrl, indexer];
    this.#loops = [this.#loop(everyMs, () => this.#look()), this.#loop(livezEveryMs, () => this.#probe())];
  }

  /** Begins the observation of the next attempt. */
  begin(): void {
    this.#stoppedMs = 0;
    this.#livezMs = 0;
    this.#wholeLivezMs = 0;
  }

  observed(): Observation {
    return {
      stoppedSeconds: this.#stoppedMs / 1000,
      livezSeconds: this.#livezMs / 1000,
      totalLivezSeconds: this.#wholeLivezMs / 1000,
    };
  }

  /**
   * Waits until the checkpoint moves again, so that an interruption counts for the attempt that caused it. False if it
   * does not move in time.
   */
  settled(): Promise<boolean> {
    const hasMoved = (): true | undefined =>
      this.#isBehind && performance.now() - this.#movedAt > 3 * everyMs ? undefined : true;
    return waitFor('ingestion continues', hasMoved, 40_000).catch(() => false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#loops);
    await this.#client?.end();
  }

  async #loop(intervalMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.#ended) {
      await work().catch(() => undefined);
      await pause(intervalMs);
    }
  }

  async #look(): Promise<void> {
    const startMs = performance.now();
    const end = await ledgerEnd(this.#ledgerUrl);
    const checkpoint = await this.#stored();
    this.#isBehind = checkpoint < end;
    if (checkpoint !== this.#checkpoint || !this.#isBehind) this.#movedAt = performance.now();
    // The time is counted only until the check began, because this process may have waited for a processor during the
    // check.
    else this.#stoppedMs = Math.max(this.#stoppedMs, startMs - this.#movedAt);
    this.#checkpoint = checkpoint;
  }

  async #stored(): Promise<number> {
    try {
      this.#client ??= await connected(this.#databaseUrl, 'attack watcher');
      const { rows } = await this.#client.query<{ at: string | null }>(
        'select checkpoint::text as at from ledger.stream',
      );
      return Number(rows[0]?.at ?? -1);
    } catch (error) {
      void this.#client?.end().catch(() => undefined);
      this.#client = undefined;
      throw error;
    }
  }

  async #probe(): Promise<void> {
    const { url, pid } = this.#indexer();
    const [startMs, queuedBefore] = [performance.now(), queuedMs(pid)];
    await new Promise<void>((resolve) => {
      const request = get(`${url}/livez`, { agent: false, timeout: livezLimitMs }, (response) => {
        response.resume().once('close', resolve);
      });
      request.once('timeout', () => request.destroy()).once('error', () => resolve());
    });
    const totalMs = performance.now() - startMs;
    this.#wholeLivezMs = Math.max(this.#wholeLivezMs, totalMs);
    this.#livezMs = Math.max(this.#livezMs, totalMs - Math.max(0, queuedMs(pid) - queuedBefore));
  }
}

/**
 * How long the main thread of a process has waited for a processor so far, in milliseconds; 0 if the system does not
 * report it.
 */
function queuedMs(pid: number): number {
  try {
    const [, nanoseconds] = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}

/** The ledger end of a sandbox. */
export async function ledgerEnd(url: string): Promise<number> {
  const response = await fetch(`${url}/v2/state/ledger-end`);
  const body = (await response.json()) as { readonly offset: number };
  return body.offset;
}
