/** Compares the views of locks with the books that an independent program computes from raw frames. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';

/** The state after an update. Amounts are in units of 10^-10. */
export interface BookState {
  readonly offset: number;
  /** By account, instrument and reason. */
  readonly amounts: Readonly<Record<string, string>>;
  readonly available: Readonly<Record<string, string>>;
  /** By id of the holding. */
  readonly withdrawable: Readonly<Record<string, string>>;
  /** By DSO and provider. */
  readonly apps: Readonly<
    Record<string, { readonly featured: boolean; readonly locked: string; readonly vesting: string }>
  >;
}

/**
 * Runs the program on frames of updates.
 * @param every the program also returns the state after every nth update
 */
export async function readBooks(frames: Iterable<string>, every: number): Promise<readonly BookState[]> {
  const program = spawn(process.execPath, [join(import.meta.dirname, 'lock-books.mjs'), String(every)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(program, 'exit');
  const states: BookState[] = [];
  const lines = async (): Promise<void> => {
    for await (const line of createInterface({ input: program.stdout })) states.push(JSON.parse(line) as BookState);
  };
  const input = pipeline(function* () {
    for (const frame of frames) yield `${frame}\n`;
  }, program.stdin);
  await Promise.all([input, lines()]);
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`lock-books.mjs ended with code ${String(code)}`);
  return states;
}

/** The states of the books as lines of text, as the views should return them. */
function* bookLines({ offset, amounts, available, withdrawable, apps }: BookState): Generator<string> {
  for (const [key, amount] of Object.entries(amounts))
    yield `${String(offset)} ${key} ${amount} ${available[key] ?? ''}`;
  for (const [id, amount] of Object.entries(withdrawable)) yield `${String(offset)} withdrawable ${id} ${amount}`;
  for (const [key, { featured, locked, vesting }] of Object.entries(apps))
    yield `${String(offset)} app ${key} ${String(featured)} ${locked} ${vesting}`;
}

const unitsSql = (column: string): string => `(${column} * 10000000000)::numeric(60, 0)::text`;

/** The same lines as the views return them. */
const viewLinesSql = `
  select concat_ws(' ', a.at, b.owner, coalesce(b.provider, ''), b.account_id, b.instrument_admin, b.instrument_id, b.reason,
                   ${unitsSql('b.amount')}, ${unitsSql('b.available')}) as line
    from unnest($1::bigint[]) a (at) cross join lateral explore.token_balances_by_reason_at(a.at) b
  union all
  select concat_ws(' ', a.at, 'withdrawable', l.contract_id, ${unitsSql('l.withdrawable')})
    from unnest($1::bigint[]) a (at) cross join lateral explore.token_locks_at(a.at) l
   where l.withdrawable is not null
  union all
  select concat_ws(' ', a.at, 'app', f.dso, f.provider, f.is_featured::text, ${unitsSql('f.locked')}, ${unitsSql('f.vesting')})
    from unnest($1::bigint[]) a (at) cross join lateral explore.featured_app_locks_at(a.at) f`;

/** Offsets at which the reasons of the views do not add up to the balances of token_balances_at. */
const unequalSumsSql = `
  select a.at::integer as at
    from unnest($1::bigint[]) a (at)
   where exists (
     select owner, provider, account_id, instrument_admin, instrument_id, sum(amount), sum(amount) filter (where reason = 'free'),
            sum(available)
       from explore.token_balances_by_reason_at(a.at)
      group by owner, provider, account_id, instrument_admin, instrument_id
     except
     select owner, provider, account_id, instrument_admin, instrument_id, total, nullif(unlocked, 0), available
       from explore.token_balances_at(a.at))`;

export interface Comparison {
  /** Lines that only one side has, at most ten of each. */
  readonly onlyInBooks: readonly string[];
  readonly onlyInViews: readonly string[];
  /** Number of equal lines. */
  readonly equal: number;
  readonly unequalSums: readonly number[];
}

/** Compares the states with the views at their offsets. */
export async function compareBooks(databaseUrl: string, states: readonly BookState[]): Promise<Comparison> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const [onlyInBooks, onlyInViews, unequalSums]: [string[], string[], number[]] = [[], [], []];
    let equal = 0;
    for (let at = 0; at < states.length; at += 100) {
      const part = states.slice(at, at + 100);
      const offsets = part.map(({ offset }) => offset);
      const { rows } = await client.query<{ line: string }>(viewLinesSql, [offsets]);
      const viewLines = new Set(rows.map(({ line }) => line));
      const expectedLines = new Set(part.flatMap((state) => [...bookLines(state)]));
      for (const line of expectedLines) {
        if (viewLines.has(line)) equal += 1;
        else onlyInBooks.push(line);
      }
      onlyInViews.push(...[...viewLines].filter((line) => !expectedLines.has(line)));
      const sums = await client.query<{ at: number }>(unequalSumsSql, [offsets]);
      unequalSums.push(...sums.rows.map((row) => row.at));
    }
    return { onlyInBooks: onlyInBooks.slice(0, 10), onlyInViews: onlyInViews.slice(0, 10), equal, unequalSums };
  } finally {
    await client.end();
  }
}
