/** A user who queries the API each second, and measures the responses. */
import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 1_000;
const requestLimitMs = 20_000;

const paths = [
  '/api/balances?limit=50',
  '/api/updates?limit=50',
  '/api/contracts?limit=50',
  '/api/templates?limit=200',
  '/api/transfers?limit=50',
  '/api/coverage',
  '/status',
];

export interface ReaderResult {
  readonly requests: number;
  /** Numbers of responses by status; 0 for requests without a response, for example during a restart. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly medianMs: number;
  readonly p99Ms: number;
}

export class ApiReader {
  readonly #url: string;
  readonly #statuses: Record<string, number> = {};
  readonly #times: number[] = [];
  #isStopping = false;
  readonly #done: Promise<void>;

  constructor(url: string) {
    this.#url = url;
    this.#done = this.#run();
  }

  async stop(): Promise<ReaderResult> {
    this.#isStopping = true;
    await this.#done;
    const times = Float64Array.from(this.#times).sort();
    const at = (share: number): number => Number((times[Math.floor(times.length * share)] ?? 0).toFixed(1));
    return { requests: this.#requests, statuses: this.#statuses, medianMs: at(0.5), p99Ms: at(0.99) };
  }

  get #requests(): number {
    return Object.values(this.#statuses).reduce((sum, count) => sum + count, 0);
  }

  async #run(): Promise<void> {
    for (let index = 0; !this.#isStopping; index += 1) {
      const begin = performance.now();
      const status = await this.#request(paths[index % paths.length] ?? '/status');
      this.#statuses[String(status)] = (this.#statuses[String(status)] ?? 0) + 1;
      if (status === 200) this.#times.push(performance.now() - begin);
      await sleep(pauseMs);
    }
  }

  async #request(path: string): Promise<number> {
    try {
      const response = await fetch(`${this.#url}${path}`, { signal: AbortSignal.timeout(requestLimitMs) });
      await response.arrayBuffer();
      return response.status;
    } catch {
      return 0;
    }
  }
}
