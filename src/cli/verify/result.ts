/** The result of `verify` and its formats. */
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { fixed, lineUp } from '../command-line/aligned.ts';

/** The kinds of comparison: rules within the tables, active contracts, updates, or the log of token admins with their holdings. */
export type VerifyKind = 'invariants' | 'acs' | 'tail' | 'range' | 'tokens';
export type VerifyOutcome = 'equal' | 'different' | 'undecided';

export interface Finding {
  /** missing: only the ledger has it; extra: only the tables have it; broken: a rule of the tables is violated. */
  readonly type: 'missing' | 'extra' | 'different' | 'broken';
  readonly offset?: number;
  readonly contractId?: string;
  readonly synchronizerId?: string;
  /** The row within the update, e.g. `exercise 3`. */
  readonly row?: string;
  /** Names of the fields that differ; never their contents. */
  readonly fields?: readonly string[];
  /** The rule, see docs/reference/invariants.md. */
  readonly rule?: string;
  /** The rows that violate the rule. */
  readonly found?: string;
}

export interface VerifyResult {
  readonly kind: VerifyKind;
  readonly outcome: VerifyOutcome;
  /** The newest offset compared. */
  readonly atOffset: number;
  /** Updates after this offset were compared; for kinds tail and range. */
  readonly fromOffset?: number;
  /** ISO-8601. */
  readonly startedAt: string;
  readonly seconds: number;
  /** Contracts, updates, rules or events. */
  readonly compared: number;
  /** Number of differences, including those that are not listed. */
  readonly different: number;
  /** Differences explained by quarantined updates. They do not count as different. */
  readonly quarantined: number;
  /** Interface views that the participant now computes with another package. They do not count as different. */
  readonly recomputed?: number;
  /** The first findings. */
  readonly findings: readonly Finding[];
  /** Why nothing was decided, or what was not compared. */
  readonly note?: string;
}

/** Maximum number of listed findings. */
export const listedFindings = 100;

/** The result of one comparison; the caller adds the time. */
export type Compared = Omit<VerifyResult, 'kind' | 'startedAt' | 'seconds' | 'outcome'> & {
  /** False if it could not be decided. */
  readonly decided?: boolean;
};

/** Runs one comparison and measures it. Errors of the ledger or the database make it undecided. */
export async function measured(kind: VerifyKind, at: number, compare: () => Promise<Compared>): Promise<VerifyResult> {
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const { decided = true, ...compared } = await compare().catch((thrown: unknown) => undecided(at, thrown));
  const outcome = compared.different > 0 ? 'different' : decided ? 'equal' : 'undecided';
  return { kind, outcome, startedAt, seconds: Math.round(performance.now() - started) / 1000, ...compared };
}

function undecided(atOffset: number, thrown: unknown): Compared {
  const error = toIndexerError(thrown);
  if (error.code === 'UNEXPECTED') throw error;
  const remedy = `; what to do: ${error.remedy}`;
  const note = `${error.code}: ${error.message}${remedy}`;
  return { atOffset, compared: 0, different: 0, quarantined: 0, findings: [], decided: false, note };
}

/** 1 if anything differs, otherwise 2 if anything is undecided, otherwise 0. */
export function exitCodeOf(results: readonly VerifyResult[]): ExitCode {
  if (results.some(({ outcome }) => outcome === 'different')) return ExitCode.different;
  return results.some(({ outcome }) => outcome === 'undecided') ? ExitCode.undecided : ExitCode.stopped;
}

/** A comparison that is not possible for these tables or this ledger. */
export function cannotCompare(found: string, remedy: string): IndexerError {
  return new IndexerError(found, {
    code: 'VERIFY_IMPOSSIBLE',
    remedy,
  });
}

/** Aligned lines for a terminal. */
export function formatResults(results: readonly VerifyResult[]): readonly string[] {
  return results.flatMap((result) => [summaryOf(result), ...result.findings.map((finding) => `  ${lineOf(finding)}`)]);
}

const placed = lineUp([], { gap: 1, columns: [fixed(7), fixed(10)] });

function summaryOf(result: VerifyResult): string {
  const { kind, outcome, compared, different, quarantined, seconds, atOffset, fromOffset, note, findings } = result;
  const range =
    fromOffset === undefined ? `at offset ${String(atOffset)}` : `offsets ${String(fromOffset)} to ${String(atOffset)}`;
  const listed = different > findings.length ? `, the first ${String(findings.length)} are listed` : '';
  const aside = quarantined === 0 ? '' : `, ${String(quarantined)} explained by quarantine`;
  const counts = `${String(compared)} compared, ${String(different)} different${listed}${aside}`;
  const tail = note === undefined ? '' : `\n  ${note}`;
  return placed([kind, outcome, `${range}: ${counts}, ${seconds.toFixed(1)} s${tail}`]);
}

function lineOf({ type, offset, contractId, synchronizerId, row, fields, rule, found }: Finding): string {
  const named: readonly (readonly [string, string | undefined])[] = [
    ['rule', rule],
    ['offset', offset === undefined ? undefined : String(offset)],
    ['contract', contractId],
    ['synchronizer', synchronizerId],
    ['row', row],
    ['fields', fields?.join(', ')],
    ['found', found],
  ];
  const details = named.flatMap(([name, text]) => (text === undefined ? [] : [`${name} ${text}`]));
  return `${type}: ${details.join('; ')}`;
}
