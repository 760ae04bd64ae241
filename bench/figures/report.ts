/** The final report: one table, the relevant ratios, and the same results as JSON. */
import { writeFileSync } from 'node:fs';
import { pqsLayout } from '../baselines/pqs-layout.ts';
import { aligned, median, middle, ratio, tableOf, values, weightTable, type Column, type Line } from './figures.ts';
import { growthName } from '../growth/growth.ts';
import { ceilingName } from '../rounds.ts';
import { oneLaneName, twoLaneName, type LatencyLine, type Session } from '../session.ts';
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
export type MeasuredSession = Pick<Session, 'options' | 'lines' | 'latencies' | 'memories'>;

/** The results for which the project has aims. */
export function keyFigures(session: MeasuredSession, profile: string): KeyFigures {
  const line = (name: string): Line | undefined =>
    session.lines.find((candidateLine) => candidateLine.profile === profile && candidateLine.name === name);
  const copy = line(ceilingName('', 1));
  const ingest = line(oneLaneName);
  const latency = session.latencies.filter((candidateLatency) => candidateLatency.profile === profile);
  const linesBySize = (ratioOf: (filledLine: Line | undefined, empty: Line | undefined) => number | undefined) =>
    Object.fromEntries(
      session.options.growthSizes.flatMap((size) => {
        const sizeRatio = size === 0 ? undefined : ratioOf(line(growthName(size)), line(growthName(0)));
        return sizeRatio === undefined ? [] : [[String(size), sizeRatio]];
      }),
    );
  const growthRatios = linesBySize((filledLine, empty) => ratio(filledLine, empty));
  const growthCpu = linesBySize((filledLine, empty) => ratio(empty, filledLine, 'wholePostgresUs'));
  const toPqs = (column: Column): number | null => ratio(ingest, line(pqsLayout.name), column) ?? null;
  const peaks = [
    ...session.lines
      .filter((candidateLine) => candidateLine.profile === profile)
      .flatMap((candidateLine) => values(candidateLine, 'peakRssMiB')),
    ...session.memories
      .filter((candidateMemory) => candidateMemory.profile === profile)
      .map(({ run }) => run.peakRssMiB ?? 0),
  ];
  return {
    ingest_vs_copy_1lane: ratio(ingest, copy) ?? null,
    ingest_vs_copy_2lanes: ratio(line(twoLaneName), copy) ?? null,
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
    latency_p50_ms: groupByPace(latency, 'p50'),
    latency_p99_ms: groupByPace(latency, 'p99'),
    peak_rss_mb: peaks.length === 0 ? null : Math.max(...peaks),
    growth_10m_vs_empty: growthRatios['10000000'] ?? null,
    growth_10m_cpu_vs_empty: growthCpu['10000000'] ?? null,
    growth_vs_empty: growthRatios,
    growth_cpu_vs_empty: growthCpu,
  };
}

function groupByPace(lines: readonly LatencyLine[], column: 'p50' | 'p99'): Record<string, number> {
  return Object.fromEntries(
    lines.map(({ updatesPerSecond, runs }) => [String(updatesPerSecond), median(runs.map((run) => run[column])) ?? 0]),
  );
}

/** The complete report as text. @param machine one line about the machine */
export function reportOf(session: Session, machine: string): string {
  const { options, server } = session;
  const settings = server.settings === '' ? 'default settings' : server.settings;
  const titleParts = [`${machine}, Postgres ${server.version} (${settings}), rounds ${String(options.rounds)}`];
  if (session.lines.length > 0) titleParts.push(tableOf(session.lines));
  const weights = weightTable(session.lines);
  if (weights !== undefined) titleParts.push(weights);
  const ratios = ratioTable(session);
  if (ratios !== undefined) titleParts.push(ratios);
  if (session.latencies.length > 0) titleParts.push(latencyTable(session));
  if (session.memories.length > 0) titleParts.push(memoryTable(session));
  titleParts.push(...session.notes);
  if (session.errors.length > 0) titleParts.push(`WRONG:\n${session.errors.join('\n')}`);
  return titleParts.join('\n\n');
}

function ratioTable(session: Session): string | undefined {
  const copies = session.lines.filter(({ name }) => /(^|: )COPY$/.test(name));
  const rows = copies.flatMap((copy) => {
    const kind = copy.name.startsWith('seed') ? /^seed/ : /^(ingest|COPY,)/;
    const otherLines = session.lines.filter(
      (line) => line.profile === copy.profile && kind.test(line.name) && line !== copy,
    );
    return otherLines.map((line) => [
      copy.profile,
      `${line.name} / COPY`,
      (ratio(line, copy) ?? Number.NaN).toFixed(3),
    ]);
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
    ...toPqs.flatMap(([ratioName, rates]) =>
      rates === null ? [] : [[profile, `ingest / ${pqsLayout.name}: ${ratioName}`, rates.toFixed(3)]],
    ),
    ...Object.entries(figures.growth_vs_empty).map(([size, growthRatio]) => [
      profile,
      `over ${size} contracts / empty: rate`,
      growthRatio.toFixed(3),
    ]),
    ...Object.entries(figures.growth_cpu_vs_empty).map(([size, growthRatio]) => [
      profile,
      `empty / over ${size} contracts: CPU of Postgres`,
      growthRatio.toFixed(3),
    ]),
  ];
}

const heads = ['profile', 'latency at', 'p50 ms', 'p95 ms', 'p99 ms', 'p99 min-max', 'poll ms', 'node core', 'pg core'];

function latencyTable({ latencies }: Session): string {
  const rows = latencies.map(({ profile, updatesPerSecond, runs }) => {
    const medianOf = (readField: (run: LatencyRun) => number | undefined): string =>
      (median(runs.map(readField).filter((value) => value !== undefined)) ?? Number.NaN).toFixed(2);
    const worstLatencies = runs.map(({ p99 }) => p99);
    const rangeText = `[${Math.min(...worstLatencies).toFixed(1)}-${Math.max(...worstLatencies).toFixed(1)}]`;
    return [
      profile,
      `${String(updatesPerSecond)} updates/s`,
      medianOf(({ p50 }) => p50),
      medianOf(({ p95 }) => p95),
      medianOf(({ p99 }) => p99),
      rangeText,
      medianOf(({ pollMs }) => pollMs),
      medianOf(({ nodeShare }) => nodeShare),
      medianOf(({ postgresShare }) => postgresShare),
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
  const keysOf = (benchSession: Session) =>
    Object.fromEntries(benchSession.options.profiles.map(({ name }) => [name, keyFigures(benchSession, name)]));
  const { server, lines, latencies, memories, errors } = session;
  const report = {
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
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
}
