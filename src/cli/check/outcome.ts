/**
 * The outcomes of `check`, and the function that runs the checks. Each check is independent of the others and has a
 * time limit. If a check throws, its outcome is a failure.
 */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';

export interface Outcome {
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
export type Finding = Omit<Outcome, 'name'>;

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

export function pass(found: string): Finding {
  return { state: 'pass', found };
}

export function warn(found: string, fix: string): Finding {
  return { state: 'warn', found, fix };
}

export function fail(found: string, fix: string): Finding {
  return { state: 'fail', found, fix };
}

export function skip(found: string): Finding {
  return { state: 'skip', found };
}

/** Runs all checks concurrently, each within `limitMs`. The outcomes have the order of the checks. */
export async function runChecks(checks: readonly Check[], limitMs: number): Promise<readonly Outcome[]> {
  const outcomes = await Promise.all(checks.map((check) => outcomeOf(check, limitMs)));
  return outcomes.map((outcome, at) => {
    const { after = [] } = checks[at] ?? {};
    if (outcome.state !== 'fail' || outcome.code === undefined) return outcome;
    const cause = outcomes.find(
      ({ name, state, code }) => after.includes(name) && state === 'fail' && code === outcome.code,
    );
    return cause !== undefined
      ? { name: outcome.name, ...skip(`same reason as "${cause.name}": ${outcome.code}`) }
      : outcome;
  });
}

async function outcomeOf({ name, excused, run }: Check, limitMs: number): Promise<Outcome> {
  try {
    return { name, ...(await within(run(), limitMs)) };
  } catch (thrown) {
    const error = toIndexerError(thrown);
    const excuse = excused?.[error.code];
    if (excuse !== undefined) return { name, ...skip(excuse) };
    return { name, state: 'fail', found: error.message, fix: error.remedy, code: error.code };
  }
}

async function within<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooSlow(limitMs)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(limitMs: number): IndexerError {
  return new IndexerError(`no response within ${String(limitMs / 1000)} s`, {
    code: 'CHECK_TIMEOUT',
    remedy:
      'check the address, firewalls that drop packets, and the load of the server; or run the command with --timeout 30',
  });
}
