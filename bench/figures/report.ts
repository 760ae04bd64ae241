/** The final report: one table, the relevant ratios, and the same results as JSON. */
import { writeFileSync } from 'node:fs';
import { pqsLayout } from '../baselines/pqs-layout.ts';
import { aligned, median, middle, ratio, tableOf, values, weightTable, type Column, type Line } from './figures.ts';
import { growthName } from '../growth/growth.ts';
import { ceilingName } from '../rounds.ts';
import { oneLane, twoLanes, type LatencyLine, type Session } from '../session.ts';
import type { LatencyRun } from '../latency.ts';
import type { Share } from './shares.ts';

/** Key results of one profile; null if not measured. */
export interface KeyFigures {
  readonly ingest_vs_copy_1lane: number | null;
  readonly ingest_vs_copy_2lanes: number | null;
  readonly copy_2connections_vs_copy: number | null;
  readonly seed_vs_copy: number | null;
  readonly ingest_vs_toy: number | null;
  readonly node_us_per_event: number | null;
  /** CPU time of Postgres during the run. The next field includes the vacuum and the checkpoint that follow. */
  readonly postgres_us_per_event: number | null;
  readonly pg_us_per_event: number | null;
  readonly wal_per_event: number | null;
  /** Bytes of tables and indexes after the vacuum. */
  readonly bytes_per_event: number | null;
  /**
   * Results of one lane divided by those of PQS's layout, so less is better. They are the CPU time of Postgres with
   * vacuum and checkpoint, the log, and the size of tables and indexes.
   */
  readonly vs_pqs_layout_cpu: number | null;
  readonly vs_pqs_layout_wal: number | null;
  readonly vs_pqs_layout_bytes: number | null;
  readonly latency_p50_ms: Readonly<Record<string, number>>;
  readonly latency_p99_ms: Readonly<Record<string, number>>;
  readonly peak_rss_mb: number | null;
  /**
   * Rate over 10 million contracts divided by the rate over none, and CPU time of Postgres over none divided by that
   * over 10 million. The best value is 1.
   */
  readonly growth_10m_vs_empty: number | null;
  readonly growth_10m_cpu_vs_empty: number | null;
  /** The ratio of rates, by the number of contracts before the run. */
  readonly growth_vs_empty: Readonly<Record<string, number>>;
  readonly growth_cpu_vs_empty: Readonly<Record<string, number>>;
}

/** Results without the server they were measured on. */
export type Measured = Pick<Session, 'options' | 'lines' | 'latencies' | 'memories'>;

/** The results for which the project has aims. */
export function keyFigures(session: Measured, profile: string): KeyFigures {
  const line = (name: string): Line | undefined =>
    session.lines.find((known) => known.profile === profile && known.name === name);
  const copy = line(ceilingName('', 1));
  const ingest = line(oneLane);
  const latency = session.latencies.filter((known) => known.profile === profile);
  const bySize = (of: (over: Line | undefined, empty: Line | undefined) => number | undefined) =>
    Object.fromEntries(
      session.options.growthSizes.flatMap((size) => {
        const found = size === 0 ? undefined : of(line(growthName(size)), line(growthName(0)));
        return found === undefined ? [] : [[String(size), found]];
      }),
    );
  const growth = bySize((over, empty) => ratio(over, empty));
  const growthCpu = bySize((over, empty) => ratio(empty, over, 'wholePostgresUs'));
  const toPqs = (column: Column): number | null => ratio(ingest, line(pqsLayout.name), column) ?? null;
  const peaks = [
    ...session.lines.filter((known) => known.profile === profile).flatMap((known) => values(known, 'peakRssMiB')),
    ...session.memories.filter((known) => known.profile === profile).map(({ run }) => run.peakRssMiB ?? 0),
  ];
  return {
    ingest_vs_copy_1lane: ratio(ingest, copy) ?? null,
    ingest_vs_copy_2lanes: ratio(line(twoLanes), copy) ?? null,
    copy_2connections_vs_copy: ratio(line(ceilingName('', 2)), copy) ?? null,
    seed_vs_copy: ratio(line('seed'), line(ceilingName('seed: ', 1))) ?? null,
    ingest_vs_toy: ratio(ingest, line('toy')) ?? null,
    node_us_per_event: middle(ingest, 'nodeUs') ?? null,
    postgres_us_per_event: middle(ingest, 'postgresUs') ?? null,
    pg_us_per_event: middle(ingest, 'wholePostgresUs') ?? null,
    wal_per_event: middle(ingest, 'walBytes') ?? null,
    bytes_per_event: middle(ingest, 'bytes') ?? null,
    vs_pqs_layout_cpu: toPqs('wholePostgresUs'),
    vs_pqs_layout_wal: toPqs('walBytes'),
    vs_pqs_layout_bytes: toPqs('bytes'),
    latency_p50_ms: byPace(latency, 'p50'),
    latency_p99_ms: byPace(latency, 'p99'),
    peak_rss_mb: peaks.length === 0 ? null : Math.max(...peaks),
    growth_10m_vs_empty: growth['10000000'] ?? null,
    growth_10m_cpu_vs_empty: growthCpu['10000000'] ?? null,
    growth_vs_empty: growth,
    growth_cpu_vs_empty: growthCpu,
  };
}

function byPace(lines: readonly LatencyLine[], column: 'p50' | 'p99'): Record<string, number> {
  return Object.fromEntries(
    lines.map(({ updatesPerSecond, runs }) => [String(updatesPerSecond), median(runs.map((run) => run[column])) ?? 0]),
  );
}

/** The complete report as text. @param machine one line about the machine */
export function reportOf(session: Session, machine: string): string {
  const { options, server } = session;
  const settings = server.settings === '' ? 'default settings' : server.settings;
  const parts = [`${machine}, Postgres ${server.version} (${settings}), rounds ${String(options.rounds)}`];
  if (session.lines.length > 0) parts.push(tableOf(session.lines));
  const weights = weightTable(session.lines);
  if (weights !== undefined) parts.push(weights);
  const ratios = ratioTable(session);
  if (ratios !== undefined) parts.push(ratios);
  if (session.latencies.length > 0) parts.push(latencyTable(session));
  if (session.memories.length > 0) parts.push(memoryTable(session));
  parts.push(...session.notes);
  if (session.errors.length > 0) parts.push(`WRONG:\n${session.errors.join('\n')}`);
  return parts.join('\n\n');
}

function ratioTable(session: Session): string | undefined {
  const copies = session.lines.filter(({ name }) => /(^|: )COPY$/.test(name));
  const rows = copies.flatMap((copy) => {
    const kind = copy.name.startsWith('seed') ? /^seed/ : /^(ingest|COPY,)/;
    const others = session.lines.filter(
      (line) => line.profile === copy.profile && kind.test(line.name) && line !== copy,
    );
    return others.map((line) => [copy.profile, `${line.name} / COPY`, (ratio(line, copy) ?? Number.NaN).toFixed(3)]);
  });
  for (const { profile } of session.lines.filter(({ name }) => name === 'toy')) {
    const toy = keyFigures(session, profile).ingest_vs_toy;
    if (toy !== null) rows.push([profile, 'ingest / toy', toy.toFixed(1)]);
  }
  for (const profile of new Set(session.lines.map((line) => line.profile))) {
    rows.push(...weightRatios(profile, keyFigures(session, profile)));
  }
  if (rows.length === 0) return undefined;
  return aligned([['profile', 'ratio (median of rounds)', ''], ...rows]);
}

function weightRatios(profile: string, figures: KeyFigures): readonly string[][] {
  const { vs_pqs_layout_cpu: cpu, vs_pqs_layout_wal: wal, vs_pqs_layout_bytes: bytes } = figures;
  const toPqs = Object.entries({ 'CPU of Postgres': cpu, WAL: wal, 'heap and index': bytes });
  return [
    ...toPqs.flatMap(([what, found]) =>
      found === null ? [] : [[profile, `ingest / ${pqsLayout.name}: ${what}`, found.toFixed(3)]],
    ),
    ...Object.entries(figures.growth_vs_empty).map(([size, found]) => [
      profile,
      `over ${size} contracts / empty: rate`,
      found.toFixed(3),
    ]),
    ...Object.entries(figures.growth_cpu_vs_empty).map(([size, found]) => [
      profile,
      `empty / over ${size} contracts: CPU of Postgres`,
      found.toFixed(3),
    ]),
  ];
}

const heads = ['profile', 'latency at', 'p50 ms', 'p95 ms', 'p99 ms', 'p99 min-max', 'poll ms', 'node core', 'pg core'];

function latencyTable({ latencies }: Session): string {
  const rows = latencies.map(({ profile, updatesPerSecond, runs }) => {
    const of = (read: (run: LatencyRun) => number | undefined): string =>
      (median(runs.map(read).filter((value) => value !== undefined)) ?? Number.NaN).toFixed(2);
    const worst = runs.map(({ p99 }) => p99);
    const spread = `[${Math.min(...worst).toFixed(1)}-${Math.max(...worst).toFixed(1)}]`;
    return [
      profile,
      `${String(updatesPerSecond)} updates/s`,
      of(({ p50 }) => p50),
      of(({ p95 }) => p95),
      of(({ p99 }) => p99),
      spread,
      of(({ pollMs }) => pollMs),
      of(({ nodeShare }) => nodeShare),
      of(({ postgresShare }) => postgresShare),
    ];
  });
  return aligned([heads, ...rows]);
}

function memoryTable({ memories }: Session): string {
  const rows = memories.map(({ profile, name, run }) => [
    profile,
    name,
    String(run.events),
    String(Math.round(run.events / run.seconds)),
    (run.peakRssMiB ?? Number.NaN).toFixed(0),
    run.secondQuarterMiB.toFixed(0),
    run.lastQuarterMiB.toFixed(0),
  ]);
  return aligned([['profile', 'memory', 'events', 'events/s', 'peak MiB', '2nd quarter', 'last quarter'], ...rows]);
}

/** Writes the key results, and all values that they are computed from. */
export function writeJson(
  path: string,
  session: Session,
  machine: string,
  second: Session | undefined,
  shares: readonly Share[],
): void {
  const keysOf = (one: Session) =>
    Object.fromEntries(one.options.profiles.map(({ name }) => [name, keyFigures(one, name)]));
  const { server, lines, latencies, memories, errors } = session;
  const all = {
    machine,
    postgres: server.version,
    settings: server.settings,
    profiles: keysOf(session),
    lines,
    latencies,
    memories,
    errors,
    ...(second === undefined
      ? {}
      : { beside: { postgres: second.server.version, profiles: keysOf(second), lines: second.lines }, shares }),
  };
  writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`);
}
