/** The results of `verify`, and how they are formatted. */
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { fixedWidthColumn, lineUp } from '../command-line/aligned.ts';

/**
 * Kinds of comparisons: invariants of the tables, active contracts, the newest updates, a range of updates, the log of
 * token admins with their holdings, or stored rows of projections with their SELECTs.
 */
export type VerifyKind = 'invariants' | 'acs' | 'tail' | 'range' | 'tokens' | 'projections';
export type VerifyOutcome = 'equal' | 'different' | 'undecided';

export interface Finding {
  /**
   * `missing`: only the ledger, or the SELECT of a projection, has it. `extra`: only the tables have it. `broken`: a
   * rule about the tables is violated.
   */
  readonly type: 'missing' | 'extra' | 'different' | 'broken';
  readonly offset?: number;
  readonly contractId?: string;
  readonly synchronizerId?: string;
  /** The row within the update, e.g. `exercise 3`. */
  readonly row?: string;
  /** Names of the fields that differ, never their contents. */
  readonly fields?: readonly string[];
  /** Id of the rule, see docs/reference/invariants.md. */
  readonly rule?: string;
  /** Description of the row that violates the rule. */
  readonly found?: string;
}

export interface VerifyResult {
  readonly kind: VerifyKind;
  readonly outcome: VerifyOutcome;
  /** The newest offset that was compared. */
  readonly atOffset: number;
  /** Updates after this offset were compared; only for kinds tail and range. */
  readonly fromOffset?: number;
  /** Start time, ISO 8601. */
  readonly startedAt: string;
  readonly seconds: number;
  /** Number of compared contracts, updates, rules or events. */
  readonly compared: number;
  /** Number of differences, including those that are not listed. */
  readonly different: number;
  /** Number of differences explained by quarantined updates. They are not part of `different`. */
  readonly quarantined: number;
  /**
   * Number of interface views that the participant now computes with another package. They are not part of `different`.
   */
  readonly recomputed?: number;
  /** The first differences, at most `listedFindings`. */
  readonly findings: readonly Finding[];
  /** Why the comparison could not be decided, or what was not compared. */
  readonly note?: string;
}

/** Maximum number of listed findings. */
export const listedFindings = 100;

/** The result of one comparison. The caller adds kind, outcome and time. */
export type Compared = Omit<VerifyResult, 'kind' | 'startedAt' | 'seconds' | 'outcome'> & {
  /** False if the comparison could not be decided. */
  readonly decided?: boolean;
};

/** Runs one comparison and measures its duration. Errors of the ledger or the database make it undecided. */
export async function timeComparison(
  kind: VerifyKind,
  at: number,
  compare: () => Promise<Compared>,
): Promise<VerifyResult> {
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const { decided: isDecided = true, ...comparison } = await compare().catch((thrown: unknown) =>
    undecidedComparison(at, thrown),
  );
  const outcome = comparison.different > 0 ? 'different' : isDecided ? 'equal' : 'undecided';
  return { kind, outcome, startedAt, seconds: Math.round(performance.now() - started) / 1000, ...comparison };
}

function undecidedComparison(atOffset: number, thrown: unknown): Compared {
  const error = toIndexerError(thrown);
  if (error.code === 'UNEXPECTED') throw error;
  const remedy = `; what to do: ${error.remedy}`;
  const note = `${error.code}: ${error.message}${remedy}`;
  return { atOffset, compared: 0, different: 0, quarantined: 0, findings: [], decided: false, note };
}

/** Exit code 1 if anything differs, otherwise 2 if anything is undecided, otherwise 0. */
export function exitCodeOf(results: readonly VerifyResult[]): ExitCode {
  if (results.some(({ outcome }) => outcome === 'different')) return ExitCode.different;
  return results.some(({ outcome }) => outcome === 'undecided') ? ExitCode.undecided : ExitCode.stopped;
}

/** The error for a comparison that is not possible for these tables or this ledger. */
export function cannotVerifyError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, {
    code: 'VERIFY_IMPOSSIBLE',
    remedy,
  });
}

/** Aligned lines for a terminal. */
export function formatResults(results: readonly VerifyResult[]): readonly string[] {
  return results.flatMap((result) => [summaryOf(result), ...result.findings.map((finding) => `  ${lineOf(finding)}`)]);
}

const layOut = lineUp([], { gap: 1, columns: [fixedWidthColumn(7), fixedWidthColumn(10)] });

function summaryOf(result: VerifyResult): string {
  const {
    kind,
    outcome,
    compared: comparedCount,
    different: differentCount,
    quarantined,
    seconds,
    atOffset,
    fromOffset,
    note,
    findings,
  } = result;
  const range =
    fromOffset === undefined ? `at offset ${String(atOffset)}` : `offsets ${String(fromOffset)} to ${String(atOffset)}`;
  const limitText = differentCount > findings.length ? `, the first ${String(findings.length)} are listed` : '';
  const quarantineText = quarantined === 0 ? '' : `, ${String(quarantined)} explained by quarantine`;
  const counts = `${String(comparedCount)} compared, ${String(differentCount)} different${limitText}${quarantineText}`;
  const tail = note === undefined ? '' : `\n  ${note}`;
  return layOut([kind, outcome, `${range}: ${counts}, ${seconds.toFixed(1)} s${tail}`]);
}

function lineOf({ type, offset, contractId, synchronizerId, row, fields, rule, found: actualValue }: Finding): string {
  const labeledValues: readonly (readonly [string, string | undefined])[] = [
    ['rule', rule],
    ['offset', offset === undefined ? undefined : String(offset)],
    ['contract', contractId],
    ['synchronizer', synchronizerId],
    ['row', row],
    ['fields', fields?.join(', ')],
    ['found', actualValue],
  ];
  const details = labeledValues.flatMap(([name, text]) => (text === undefined ? [] : [`${name} ${text}`]));
  return `${type}: ${details.join('; ')}`;
}
