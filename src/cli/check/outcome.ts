/** One line of `check`, and how a check is run: on its own, within a limit, whatever it throws. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';

export interface Outcome {
  readonly name: string;
  /** `warn`: all is well now, and will not be later unless something is done. */
  readonly state: 'pass' | 'warn' | 'fail' | 'skip';
  /** What was found; one line. */
  readonly found: string;
  /** What to do; of failures and warnings only. */
  readonly fix?: string | undefined;
  /** Code of the error behind a failure. */
  readonly code?: string | undefined;
}

/** What a check resolves to; a failure may also be thrown. */
export type Finding = Omit<Outcome, 'name'>;

export interface Check {
  readonly name: string;
  /** A failure of the same code there explains this one: it is shown once. */
  readonly after?: readonly string[];
  /** When it throws one of these codes, what that means instead of a failure. */
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

/** All at the same time, each within `limitMs`; in the order given. */
export async function runChecks(checks: readonly Check[], limitMs: number): Promise<readonly Outcome[]> {
  const outcomes = await Promise.all(checks.map((check) => outcomeOf(check, limitMs)));
  return outcomes.map((outcome, at) => {
    const { after = [] } = checks[at] ?? {};
    if (outcome.state !== 'fail' || outcome.code === undefined) return outcome;
    const cause = outcomes.find(
      ({ name, state, code }) => after.includes(name) && state === 'fail' && code === outcome.code,
    );
    return cause !== undefined
      ? { name: outcome.name, ...skip(`for the reason of "${cause.name}": ${outcome.code}`) }
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
  return new IndexerError(`no answer within ${String(limitMs / 1000)} s`, {
    code: 'CHECK_TIMEOUT',
    remedy: 'check the address, firewalls that drop packets, and whether the other side is overloaded; or --timeout 30',
  });
}
