/** Final report of `npm run bench:answers`: a table of the slowest statements, and all results as JSON. */
import { aligned } from '../figures/figures.ts';
import type { Execution } from './measure.ts';
import type { FilledProjection } from './projections.ts';
import { labelOf, type LeftOut, type Statement } from './statements/statement.ts';

/** Results of one statement. */
export interface Answer {
  readonly statement: Statement;
  /** Undefined without a cold pass. */
  readonly cold: Execution | undefined;
  readonly warm: Execution;
}

export interface AnswersReport {
  readonly updates: number;
  readonly events: number;
  /** Commit that was measured. */
  readonly commit: string;
  /** Description of the machine and of Postgres. */
  readonly machine: string;
  readonly filledAt: string;
  readonly newestUpdate: string;
  readonly fillUpdatesPerSecond: number | undefined;
  readonly projections: readonly FilledProjection[];
  readonly answers: readonly Answer[];
  readonly leftOut: readonly LeftOut[];
}

const shownRows = 20;
const nameWidth = 78;

/** The statements with the longest warm times, the slowest first. */
function slowestOf(answers: readonly Answer[]): readonly Answer[] {
  return answers.toSorted((a, b) => b.warm.ms - a.warm.ms).slice(0, shownRows);
}

/** The table as text, with times in milliseconds. */
export function answersTable(report: AnswersReport): string {
  const heads = ['statement', 'range', 'cold ms', 'warm ms', 'rows', ''];
  const rows = slowestOf(report.answers).map(({ statement, cold, warm }) => [
    shorten(`${statement.source} ${statement.name}`),
    statement.range ?? '',
    cold === undefined ? '-' : cold.ms.toFixed(0),
    warm.ms.toFixed(0),
    String(warm.rows),
    outcomeOf(warm),
  ]);
  const { updates, events, statements, over_1s, over_5s, cold_over_1s, cold_over_5s, p95_ms, timed_out } =
    countsOf(report);
  const counts = [
    `${String(updates)} updates, ${String(events)} events; ${report.machine}; newest update ${report.newestUpdate}`,
    `${String(statements)} statements: ${String(over_1s)} over 1 s, ${String(over_5s)} over 5 s, p95 ${String(p95_ms)} ms, ${String(timed_out)} timed out` +
      (cold_over_1s === null ? '' : `; cold: ${String(cold_over_1s)} over 1 s, ${String(cold_over_5s)} over 5 s`),
  ];
  const stored = projectionTable(report);
  const failures = report.answers.filter(({ warm }) => warm.error !== undefined && !warm.timedOut);
  const failed = failures.map(({ statement, warm }) => `${labelOf(statement)}: ${warm.error ?? ''}`);
  const left = report.leftOut.map(({ name, reason }) => `${name}: ${reason}`);
  return [
    aligned([heads, ...rows]),
    counts.join('\n'),
    ...(stored === undefined ? [] : [stored]),
    ...(failed.length === 0 ? [] : [`FAILED:\n${failed.join('\n')}`]),
    ...(left.length === 0 ? [] : [`Left out:\n${left.join('\n')}`]),
  ].join('\n\n');
}

/** The projections, with the longest time to fill first. Undefined without projections. */
function projectionTable({ projections, events }: AnswersReport): string | undefined {
  if (projections.length === 0) return undefined;
  const rows = projections
    .toSorted((a, b) => b.seconds - a.seconds)
    .map((projection) => [
      projection.name,
      String(projection.rows),
      (projection.bytes / 1e6).toFixed(0),
      projection.seconds.toFixed(1),
      microsPerEvent(projection, events)?.toFixed(1) ?? '-',
    ]);
  return aligned([['projection', 'rows', 'MB', 'filled in s', 'us per event'], ...rows]);
}

/** Time to fill a projection, by events of the history. Null if it was already filled. */
function microsPerEvent({ seconds }: FilledProjection, events: number): number | null {
  return seconds === 0 ? null : round((seconds * 1e6) / events);
}

function shorten(text: string): string {
  return text.length <= nameWidth ? text : `${text.slice(0, nameWidth - 1)}…`;
}

function outcomeOf({ error, timedOut }: Execution): string {
  if (timedOut) return 'TIMED OUT';
  return error === undefined ? '' : 'FAILED';
}

/** Results by key, with null for values that were not measured. */
export function countsOf({ updates, events, commit, answers }: AnswersReport) {
  const warm = answers.map((answer) => answer.warm);
  const cold = answers.flatMap((answer) => (answer.cold === undefined ? [] : [answer.cold]));
  const hasCold = cold.length > 0;
  return {
    updates,
    events,
    commit,
    statements: answers.length,
    over_1s: countOver(warm, 1_000),
    over_5s: countOver(warm, 5_000),
    cold_over_1s: hasCold ? countOver(cold, 1_000) : null,
    cold_over_5s: hasCold ? countOver(cold, 5_000) : null,
    p95_ms: percentile95(warm),
    cold_p95_ms: hasCold ? percentile95(cold) : null,
    timed_out: warm.filter(({ timedOut }) => timedOut).length,
    cold_timed_out: hasCold ? cold.filter(({ timedOut }) => timedOut).length : null,
    failed: warm.filter(({ error, timedOut }) => error !== undefined && !timedOut).length,
  };
}

function countOver(executions: readonly Execution[], ms: number): number {
  return executions.filter((execution) => execution.ms > ms).length;
}

/** A statement that timed out counts with its limit. One that failed has no time. */
function percentile95(executions: readonly Execution[]): number | null {
  const times = executions.filter(({ error, timedOut }) => error === undefined || timedOut).map(({ ms }) => ms);
  const value = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1];
  return value === undefined ? null : round(value);
}

/** The report as JSON. */
export function answersJson(report: AnswersReport): string {
  const { machine, filledAt, newestUpdate, fillUpdatesPerSecond, projections, answers, leftOut } = report;
  const entry = ({ statement, cold, warm }: Answer) => ({
    name: statement.name,
    source: statement.source,
    range: statement.range ?? null,
    cold_ms: cold === undefined ? null : round(cold.ms),
    warm_ms: round(warm.ms),
    rows: warm.rows,
    error: warm.error ?? null,
  });
  const document = {
    ...countsOf(report),
    machine,
    filled_at: filledAt,
    fill_updates_per_s: fillUpdatesPerSecond ?? null,
    newest_update: newestUpdate,
    projections: projections.map((one) => ({ ...one, us_per_event: microsPerEvent(one, report.events) })),
    slowest: slowestOf(answers).map(entry),
    all: answers.map((answer) => ({ ...entry(answer), sql: answer.statement.sql })),
    left_out: leftOut,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
