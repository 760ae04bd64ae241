/** Token holdings: what each recorded update moved, and who owns what at the end, as the views of explore tell it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordingsFolder } from '../support/wire/recordings.ts';
import { readRecording, shapes } from './recording.ts';
import { prepareRun, type Run } from './run.ts';

interface Change {
  readonly owner: string;
  readonly in: readonly string[];
  readonly out: readonly string[];
  readonly net: string;
}
interface Holdings {
  readonly updates: readonly {
    readonly offset: number;
    readonly updateId: string;
    readonly choices: readonly string[];
    readonly changes: readonly Change[];
  }[];
  readonly balancesAtEnd: Readonly<Record<string, string>>;
}

const folder = recordingsFolder() ?? '';

/** Holdings that came and went, as the first version of their interface shows them. */
const moved = `
  with holdings as (
    select contract_id, "offset", view ->> 'owner' as owner, (view ->> 'amount')::numeric as amount,
           view ->> 'amount' || case when view ->> 'lock' is null then '' else ' locked' end as text
      from explore.interface_views
     where interface_fqn like '%:Splice.Api.Token.HoldingV1:Holding' and view #>> '{instrumentId,id}' = 'USD'),
  moves as (
    select "offset", owner, amount, text, null as gone from holdings
    union all
    select e."offset", h.owner, -h.amount, null, h.text from explore.events e join holdings h using (contract_id)
     where e.event_type = 'archived')
  select "offset"::integer, owner, coalesce(array_agg(text order by text) filter (where text is not null), '{}') as in,
         coalesce(array_agg(gone order by gone) filter (where gone is not null), '{}') as out, sum(amount)::text as net
    from moves group by 1, 2 order by 1, 2`;

describe.skipIf(folder === '').each(shapes)('the recorded token flow under %s', (shape) => {
  let run: Run;
  let holdings: Holdings;
  beforeAll(async () => {
    holdings = JSON.parse(readFileSync(join(folder, 'core/holdings-by-update.json'), 'utf8')) as Holdings;
    const recording = readRecording(join(folder, 'core'));
    run = await prepareRun({ recording, shape, ledgerEnd: recording.end });
    await using daemon = run.start();
    await run.reaches(daemon, recording.end);
  });
  afterAll(async () => {
    await run[Symbol.asyncDispose]();
  });

  it('leaves the recorded balances', async () => {
    const { rows } = await run.client.query<{ owner: string; total: string }>(
      `select owner, total::text from explore.token_balances where instrument_id = 'USD' and locked = 0`,
    );
    expect(Object.fromEntries(rows.map(({ owner, total }) => [owner, total]))).toEqual(holdings.balancesAtEnd);
  });

  it('moves in each update what the recording says, and nothing in the others', async () => {
    const { rows } = await run.client.query<Change & { readonly offset: number }>(moved);
    const recorded = holdings.updates.flatMap(({ offset, changes }) =>
      changes.map(({ owner, net, ...change }) => {
        // The own contracts alone do not show what came and went in one update.
        const passed = shape === 'ACS_DELTA' ? change.in.filter((text) => change.out.includes(text)) : [];
        const shown = (texts: readonly string[]): string[] => texts.filter((text) => !passed.includes(text)).sort();
        return { owner, net, offset, in: shown(change.in), out: shown(change.out) };
      }),
    );
    const order = (a: Change & { offset: number }, b: Change & { offset: number }): number =>
      a.offset - b.offset || (a.owner < b.owner ? -1 : 1);
    expect(rows).toEqual(recorded.sort(order));
  });
});
