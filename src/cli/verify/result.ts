/** What `verify` finds out, and how it is shown. */
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { fixed, lineUp } from '../command-line/aligned.ts';

/** What is compared: rules within the tables, active contracts, updates, or what admins of tokens log with their holdings. */
export type VerifyKind = 'invariants' | 'acs' | 'tail' | 'range' | 'tokens';
export type VerifyOutcome = 'equal' | 'different' | 'undecided';

export interface Finding {
  /** missing: the ledger has it, the tables do not; extra: the other way round; broken: a rule of the tables. */
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
  /** What breaks the rule. */
  readonly found?: string;
}

export interface VerifyResult {
  readonly kind: VerifyKind;
  readonly outcome: VerifyOutcome;
  /** The newest offset compared. */
  readonly atOffset: number;
  /** Updates after this offset were compared; for kinds tail and replay. */
  readonly fromOffset?: number;
  /** ISO-8601. */
  readonly startedAt: string;
  readonly seconds: number;
  /** Contracts, updates, rules or events. */
  readonly compared: number;
  /** Differences, also those beyond the ones listed. */
  readonly different: number;
  /** Differences explained by updates in quarantine; they do not count as different. */
  readonly quarantined: number;
  /** Views of interfaces that the participant computed with another package when asked again; they do not count as different. */
  readonly recomputed?: number;
  /** The first findings. */
  readonly findings: readonly Finding[];
  /** Why nothing was decided, or what was left out. */
  readonly note?: string;
}

/** So many findings are listed. */
export const listedFindings = 100;

/** Found out by one comparison; time is added by whoever runs it. */
export type Compared = Omit<VerifyResult, 'kind' | 'startedAt' | 'seconds' | 'outcome'> & {
  /** False when it could not be decided. */
  readonly decided?: boolean;
};

/** Runs one comparison and measures it. What the ledger or the database refuses makes it undecided. */
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

/** 1 when anything differs, else 2 when anything is undecided, else 0. */
export function exitCodeOf(results: readonly VerifyResult[]): ExitCode {
  if (results.some(({ outcome }) => outcome === 'different')) return ExitCode.different;
  return results.some(({ outcome }) => outcome === 'undecided') ? ExitCode.undecided : ExitCode.stopped;
}

/** A comparison that makes no sense for these tables or this ledger. */
export function cannotCompare(found: string, remedy: string): IndexerError {
  return new IndexerError(found, {
    code: 'VERIFY_IMPOSSIBLE',
    remedy,
  });
}

/** Aligned lines for a terminal. */
export function shownResults(results: readonly VerifyResult[]): readonly string[] {
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
  const shown = named.flatMap(([name, text]) => (text === undefined ? [] : [`${name} ${text}`]));
  return `${type}: ${shown.join('; ')}`;
}
