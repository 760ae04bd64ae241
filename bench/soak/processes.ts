/** The processes of a soak, each of which can be stopped or killed, and started again at the same address. */
import { once } from 'node:events';
import { createWriteStream, existsSync, readFileSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { messagesOf, startChild, type Child } from '../child.ts';
import { onExit } from '../cleanup.ts';
import { startIndexerProcess } from '../indexer-process.ts';
import type { Ports } from './folder.ts';
import type { LedgerMessage, LedgerPlan } from './ledger.ts';

const ledgerHeapMiB = 2_048;
const readyLimitMs = 180_000;
/** Frequent checkpoints and a small log, so that its size does not depend on the length of a piece. */
const settings = {
  shared_buffers: '256MB',
  checkpoint_timeout: '2min',
  max_wal_size: '1GB',
  log_checkpoints: 'off',
} as const;

export interface ProcessPlan {
  readonly folder: string;
  readonly ports: Ports;
  readonly rate: number;
  /** Variables of the indexer. */
  readonly env: Readonly<Record<string, string>>;
}

export class Processes {
  readonly #plan: ProcessPlan;
  readonly #logs: Readonly<Record<'postgres' | 'indexer', WriteStream>>;
  #postgres: EmbeddedPostgres | undefined;
  #ledger: Child | undefined;
  #indexer: Child | undefined;
  /** Rejects if the indexer ends without being killed. */
  #whenFailed: Promise<never>;
  #fail: (error: Error) => void = () => undefined;

  constructor(plan: ProcessPlan) {
    this.#plan = plan;
    const log = (name: string): WriteStream => createWriteStream(join(plan.folder, `${name}.log`), { flags: 'a' });
    this.#logs = { postgres: log('postgres'), indexer: log('indexer') };
    this.#whenFailed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    this.#whenFailed.catch(() => undefined);
  }

  get failed(): Promise<never> {
    return this.#whenFailed;
  }

  get ledgerUrl(): string {
    return `http://127.0.0.1:${String(this.#plan.ports.ledger)}`;
  }

  get indexerUrl(): string {
    return `http://127.0.0.1:${String(this.#plan.ports.indexer)}`;
  }

  get databaseUrl(): string {
    return this.#postgres?.url ?? '';
  }

  /** Process ids; 0 if the process does not run. */
  get pids(): { readonly postgres: number; readonly indexer: number } {
    return { postgres: this.#postgres?.pid ?? 0, indexer: this.#indexer?.pid ?? 0 };
  }

  async startPostgres(): Promise<void> {
    const server = await startEmbeddedPostgres({
      dataDir: join(this.#plan.folder, 'postgres'),
      port: this.#plan.ports.postgres,
      settings,
      log: (line) => this.#logs.postgres.write(`${line}\n`),
    });
    this.#postgres = server;
    onExit(() => server.stop());
  }

  /** A fast stop: open transactions are rolled back. */
  async stopPostgres(): Promise<void> {
    await this.#postgres?.stop();
  }

  /**
   * SIGKILL to the server. Its processes notice that and end, and until then they hold the memory that the next server
   * needs. That server recovers from the log.
   */
  async killPostgres(): Promise<void> {
    const { postgres } = this.pids;
    if (postgres === 0) return;
    const backends = childrenOf(postgres);
    process.kill(postgres, 'SIGKILL');
    const end = performance.now() + readyLimitMs;
    while (backends.some((pid) => existsSync(`/proc/${String(pid)}`)) && performance.now() < end) await sleep(100);
  }

  async startLedger(): Promise<number> {
    const { folder, ports, rate } = this.#plan;
    const plan: LedgerPlan = { journal: join(folder, 'ledger', 'journal'), port: ports.ledger, rate };
    const child = startChild({
      file: 'soak/ledger.js',
      args: [JSON.stringify(plan)],
      nodeArgs: [`--max-old-space-size=${String(ledgerHeapMiB)}`],
    });
    this.#ledger = child;
    return (await messagesOf<LedgerMessage>(child)('listening')).ledgerEnd;
  }

  /** Stops the traffic; the ledger continues to respond. */
  async stopTraffic(): Promise<Extract<LedgerMessage, { kind: 'stopped' }>> {
    const ledger = this.#ledger;
    if (ledger === undefined) throw new Error('the ledger is not running');
    const message = messagesOf<LedgerMessage>(ledger)('stopped');
    ledger.process.send('stop');
    return message;
  }

  async endLedger(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await endChild(this.#ledger, signal);
  }

  startIndexer(): void {
    const child = startIndexerProcess({
      variant: { name: 'soak', env: this.indexerEnv },
      ledgerUrl: this.ledgerUrl,
      databaseUrl: this.databaseUrl,
      start: 'genesis',
    });
    child.process.stdout?.pipe(this.#logs.indexer, { end: false });
    child.process.stderr?.pipe(this.#logs.indexer, { end: false });
    this.#indexer = child;
    child.process.once('exit', (code) => {
      // An exit without a request is a failure. Before a kill, the field no longer has this child.
      if (this.#indexer === child) this.#fail(new Error(`the indexer ended (${String(code)}):\n${child.lastLines()}`));
    });
  }

  get indexerEnv(): Readonly<Record<string, string>> {
    return { INDEXER_HTTP_PORT: String(this.#plan.ports.indexer), ...this.#plan.env };
  }

  async endIndexer(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#indexer;
    this.#indexer = undefined;
    await endChild(child, signal);
  }

  /** Waits until the indexer has stored `offset`. */
  async untilStored(offset: number): Promise<void> {
    const end = performance.now() + readyLimitMs;
    for (;;) {
      const checkpoint = await this.checkpoint();
      if (checkpoint >= offset) return;
      if (performance.now() > end)
        throw new Error(`the indexer is at offset ${String(checkpoint)}, expected ${String(offset)}`);
      await Promise.race([sleep(250), this.failed]);
    }
  }

  /** Checkpoint of the indexer; 0 if it does not respond. */
  async checkpoint(): Promise<number> {
    try {
      const response = await fetch(`${this.indexerUrl}/status`, { signal: AbortSignal.timeout(5_000) });
      return ((await response.json()) as { checkpoint: number | null }).checkpoint ?? 0;
    } catch {
      return 0;
    }
  }
}

async function endChild(child: Child | undefined, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child === undefined) return;
  if (signal === 'SIGKILL' && child.process.exitCode === null && child.process.signalCode === null) {
    const whenExited = once(child.process, 'exit');
    child.process.kill('SIGKILL');
    await whenExited;
  }
  await child.stop();
}

/** Process ids of the children of a process. */
export function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
  return text.split(' ').map(Number).filter(Boolean);
}
