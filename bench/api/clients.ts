/**
 * Clients of `/api`: `clients.js PLAN`, with a {@link ClientPlan} as JSON. First one client sends each request many
 * times, one after the other. Then many clients request contracts by id at the same time.
 */
import { Agent, get } from 'node:http';
import type { MeasuredRequest } from './requests.ts';

export interface ClientPlan {
  readonly url: string;
  /** The first one is sent by all clients. */
  readonly requests: readonly MeasuredRequest[];
  readonly clients: number;
  /** Time in which all clients send requests. */
  readonly seconds: number;
}

export interface ClientReport {
  /** Time of a request of one client, milliseconds, by request. */
  readonly p50_ms_by_route: Readonly<Record<string, number>>;
  readonly p95_ms_by_route: Readonly<Record<string, number>>;
  /** Rate of all clients, and the time of their requests. */
  readonly requests_per_s: number;
  readonly p95_ms_with_clients: number;
  /** Answers that were not 200. */
  readonly errors: number;
  readonly problem: string | undefined;
}

export type ClientMessage = { readonly kind: 'timed' } | { readonly kind: 'done'; readonly report: ClientReport };

const [warmUp, rounds] = [30, 300];

const plan = JSON.parse(process.argv[2] ?? '{}') as ClientPlan;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
let errors = 0;
let problem: string | undefined;

/** Resolves to the time of the request, milliseconds. */
function timed(path: string): Promise<number> {
  const from = performance.now();
  return new Promise((resolve) => {
    const fail = (reason: string): void => {
      errors += 1;
      problem ??= `${path}: ${reason}`;
      resolve(performance.now() - from);
    };
    get(`${plan.url}${path}`, { agent }, (response) => {
      response.resume();
      response.once('end', () =>
        response.statusCode === 200 ? resolve(performance.now() - from) : fail(`status ${String(response.statusCode)}`),
      );
    }).once('error', (error) => fail(error.message));
  });
}

function percentile(times: readonly number[], percent: number): number {
  const sorted = times.toSorted((left, other) => left - other);
  return Number((sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN).toFixed(2));
}

async function timesOf({ paths }: MeasuredRequest): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < warmUp + rounds; round += 1) {
    const time = await timed(paths[round % paths.length] ?? '');
    if (round >= warmUp) times.push(time);
  }
  return times;
}

async function requestUntil(end: number, paths: readonly string[], first: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = first; performance.now() < end; round += 1)
    times.push(await timed(paths[round % paths.length] ?? ''));
  return times;
}

const [medians, p95s]: [Record<string, number>, Record<string, number>] = [{}, {}];
for (const request of plan.requests) {
  const times = await timesOf(request);
  medians[request.name] = percentile(times, 50);
  p95s[request.name] = percentile(times, 95);
}
process.send?.({ kind: 'timed' } satisfies ClientMessage);
const paths = plan.requests[0]?.paths ?? [];
const beganAt = performance.now();
const all = await Promise.all(
  Array.from({ length: plan.clients }, (_, client) => requestUntil(beganAt + plan.seconds * 1_000, paths, client * 7)),
);
const times = all.flat();
const report: ClientReport = {
  p50_ms_by_route: medians,
  p95_ms_by_route: p95s,
  requests_per_s: Math.round(times.length / ((performance.now() - beganAt) / 1_000)),
  p95_ms_with_clients: percentile(times, 95),
  errors,
  problem,
};
process.send?.({ kind: 'done', report } satisfies ClientMessage);
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => undefined);
