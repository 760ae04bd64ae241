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
  /** By account and instrument. */
  readonly totals: Readonly<Record<string, string>>;
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

/** Vested amounts and apps change slowly, so they are compared in every fifth state only. */
const termsEvery = 5;

/** A state of the books as lines of text, as the views should return them. */
function* bookLines(state: BookState, withTerms: boolean): Generator<string> {
  const { offset, totals, amounts, available } = state;
  for (const [key, total] of Object.entries(totals)) yield `${String(offset)} total ${key} ${total}`;
  for (const [key, amount] of Object.entries(amounts))
    yield `${String(offset)} ${key} ${amount} ${available[key] ?? ''}`;
  if (!withTerms) return;
  for (const [id, amount] of Object.entries(state.withdrawable)) yield `${String(offset)} withdrawable ${id} ${amount}`;
  for (const [key, { featured, locked, vesting }] of Object.entries(state.apps))
    yield `${String(offset)} app ${key} ${String(featured)} ${locked} ${vesting}`;
}

const unitsSql = (column: string): string => `(${column} * 10000000000)::numeric(60, 0)::text`;
const accountSql = `b.owner, coalesce(b.provider, ''), b.account_id, b.instrument_admin, b.instrument_id`;

/** The same lines as the views return them. */
const viewLinesSql = `
  select concat_ws(' ', b.at_offset, 'total', ${accountSql}, ${unitsSql('b.total')}) as line
    from explore.token_totals_at($1::bigint[]) b
  union all
  select concat_ws(' ', a.at, ${accountSql}, b.reason, ${unitsSql('b.amount')}, ${unitsSql('b.available')})
    from unnest($1::bigint[]) a (at) cross join lateral explore.token_balances_by_reason_at(a.at) b
  union all
  select concat_ws(' ', a.at, 'withdrawable', l.contract_id, ${unitsSql('l.withdrawable')})
    from unnest($2::bigint[]) a (at) cross join lateral explore.token_locks_at(a.at) l
   where l.withdrawable is not null
  union all
  select concat_ws(' ', a.at, 'app', f.dso, f.provider, f.is_featured::text, ${unitsSql('f.locked')}, ${unitsSql('f.vesting')})
    from unnest($2::bigint[]) a (at) cross join lateral explore.featured_app_locks_at(a.at) f`;

export interface Comparison {
  /** Lines that only one side has, at most ten of each. */
  readonly onlyInBooks: readonly string[];
  readonly onlyInViews: readonly string[];
  /** Number of equal lines. */
  readonly equal: number;
}

/** Compares the states with the views at their offsets. */
export async function compareBooks(databaseUrl: string, states: readonly BookState[]): Promise<Comparison> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const [onlyInBooks, onlyInViews]: [string[], string[]] = [[], []];
    let equal = 0;
    for (let at = 0; at < states.length; at += 100) {
      const part = states.slice(at, at + 100);
      const hasTerms = (index: number): boolean => index % termsEvery === 0;
      const offsets = part.map(({ offset }) => offset);
      const { rows } = await client.query<{ line: string }>(viewLinesSql, [
        offsets,
        offsets.filter((_, index) => hasTerms(index)),
      ]);
      const viewLines = new Set(rows.map(({ line }) => line));
      const expectedLines = new Set(part.flatMap((state, index) => [...bookLines(state, hasTerms(index))]));
      for (const line of expectedLines) {
        if (viewLines.has(line)) equal += 1;
        else onlyInBooks.push(line);
      }
      onlyInViews.push(...[...viewLines].filter((line) => !expectedLines.has(line)));
    }
    return { onlyInBooks: onlyInBooks.slice(0, 10), onlyInViews: onlyInViews.slice(0, 10), equal };
  } finally {
    await client.end();
  }
}
