/**
 * The outcomes of `check`, and the function that runs the checks. Each check is independent of the others and has a
 * time limit. If a check throws, its outcome is a failure.
 */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';

export interface CheckOutcome {
  readonly name: string;
  /** `warn` means that nothing fails now but something will fail later unless the operator acts. */
  readonly state: 'pass' | 'warn' | 'fail' | 'skip';
  /** The finding, as one line of text. */
  readonly found: string;
  /** The fix; only for failures and warnings. */
  readonly fix?: string | undefined;
  /** The error code of a failure. */
  readonly code?: string | undefined;
}

/** The result of a check. A failure may also be thrown. */
export type Finding = Omit<CheckOutcome, 'name'>;

export interface Check {
  readonly name: string;
  /**
   * Names of checks that explain a failure of this check with the same code, so that the failure is reported only once.
   */
  readonly after?: readonly string[];
  /** Error codes that do not make this check fail, with the finding for each code. */
  readonly excused?: Readonly<Record<string, string>>;
  readonly run: () => Promise<Finding>;
}

export function pass(message: string): Finding {
  return { state: 'pass', found: message };
}

export function warn(message: string, fix: string): Finding {
  return { state: 'warn', found: message, fix };
}

export function fail(message: string, fix: string): Finding {
  return { state: 'fail', found: message, fix };
}

export function skip(message: string): Finding {
  return { state: 'skip', found: message };
}

/** Runs all checks concurrently, each within `limitMs`. The outcomes have the order of the checks. */
export async function runChecks(checks: readonly Check[], limitMs: number): Promise<readonly CheckOutcome[]> {
  const outcomes = await Promise.all(checks.map((check) => outcomeOf(check, limitMs)));
  return outcomes.map((outcome, index) => {
    const { after = [] } = checks[index] ?? {};
    if (outcome.state !== 'fail' || outcome.code === undefined) return outcome;
    const cause = outcomes.find(
      ({ name, state, code }) => after.includes(name) && state === 'fail' && code === outcome.code,
    );
    return cause !== undefined
      ? { name: outcome.name, ...skip(`same reason as "${cause.name}": ${outcome.code}`) }
      : outcome;
  });
}

async function outcomeOf({ name, excused, run }: Check, limitMs: number): Promise<CheckOutcome> {
  try {
    return { name, ...(await withTimeout(run(), limitMs)) };
  } catch (thrown) {
    const error = toIndexerError(thrown);
    const excuse = excused?.[error.code];
    if (excuse !== undefined) return { name, ...skip(excuse) };
    return { name, state: 'fail', found: error.message, fix: error.remedy, code: error.code };
  }
}

async function withTimeout<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(timeoutError(limitMs)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function timeoutError(limitMs: number): IndexerError {
  return new IndexerError(`no response within ${String(limitMs / 1000)} s`, {
    code: 'CHECK_TIMEOUT',
    remedy:
      'check the address, firewalls that drop packets, and the load of the server; or run the command with --timeout 30',
  });
}
