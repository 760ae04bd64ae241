/**
 * Tests commands that read a list or a range that a gateway ends early with a normal close. No command treats an
 * incomplete result as complete.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../cli/verb-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { CuttingGateway, listPath } from '../support/cutting-gateway.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { runVerify } from '../verify/verify-run.ts';

let world: HistoryWorld;
let gateway: CuttingGateway;
let env: Record<string, string>;
const genesis = { INDEXER_START: 'genesis' };

beforeEach(async () => {
  world = await HistoryWorld.open(100);
  await world.index('ledger', genesis);
  gateway = await CuttingGateway.before(world.sandbox.url);
  env = { LEDGER_URL: gateway.url };
});
afterEach(async () => {
  await gateway[Symbol.asyncDispose]();
  await world.close();
});

const cutLists = (): void => {
  gateway.cuts = ({ path, frames }) => path === listPath && frames === 10;
};
/** The setting makes the ledger like participants of release 3.4, whose entries have no continuation tokens. */
const withoutTokens = (): void => {
  gateway.tokens = false;
};
const cutUpdates = (): void => {
  gateway.cuts = ({ path, frames }) => path === '/v2/updates' && frames === 25;
};
const reseed = 'reseed --yes';
const countActive = (): number => [...world.sandbox.ledger.activeAt(world.sandbox.ledger.ledgerEnd())].length;

function growLedger(): void {
  world.grow(60);
  world.sandbox.ledger.pruneTo(world.sandbox.ledger.ledgerEnd() - 5);
}

describe('the command reseed', () => {
  it('ends only contracts missing in the complete list if a gateway closes lists early', async () => {
    growLedger();
    cutLists();
    await world.command(reseed, 'ledger', env);
    await world.index();
    await world.index('fresh');
    expect(await world.active()).toEqual(await world.active('fresh'));
    expect(await world.broken()).toEqual([]);
  }, 120_000);

  it('fails without changes if the list cannot be confirmed complete', async () => {
    growLedger();
    const digestBefore = await digestOf(world.database.url, 'ledger');
    withoutTokens();
    cutLists();
    await expect(world.command(reseed, 'ledger', env)).rejects.toMatchObject({ code: 'LEDGER_STREAM_TRUNCATED' });
    expect(await digestOf(world.database.url, 'ledger')).toBe(digestBefore);
    const [stagedRow] = await query(world.database.url, 'select seeded_at from ledger_reseed.stream');
    expect(stagedRow).toEqual({ seeded_at: null });
  }, 120_000);
});

describe('the command verify', () => {
  const verify = (...args: string[]) => runVerify(args, world.env('ledger', env));

  it('resumes --acs after an early close, and compares the complete list', async () => {
    cutLists();
    const { outcome, results } = await verify('--acs');
    expect([outcome, results[0]?.compared]).toEqual(['equal', countActive()]);
  });

  it('reports --acs as undecided if the list is not confirmed complete', async () => {
    withoutTokens();
    cutLists();
    const { code, results } = await verify('--acs');
    expect([code, results]).toEqual([2, [expect.objectContaining({ outcome: 'undecided', different: 0 })]]);
    expect(results[0]?.note).toContain('LEDGER_STREAM_TRUNCATED');
    expect(results[0]?.note).toContain('cannot be verified as complete');
  });

  it('resumes --range after an early close, and reports no surplus rows', async () => {
    cutUpdates();
    const checkpoint = await world.checkpoint();
    const { outcome, results } = await verify('--range', '1', String(checkpoint));
    const [stored] = await query(world.database.url, 'select count(*)::int as updates from ledger.updates');
    expect([outcome, results[0]?.compared]).toEqual(['equal', stored?.['updates']]);
  });

  it('reports --range as undecided if it makes no progress', async () => {
    gateway.cuts = ({ path }) => path === '/v2/updates';
    const { code, results } = await verify('--range', '1', String(await world.checkpoint()));
    expect([code, results[0]?.outcome]).toEqual([2, 'undecided']);
    expect(results[0]?.note).toContain('cannot be verified as complete');
  });
});

describe('the command ledger', () => {
  it('prints the complete list of acs, or fails', async () => {
    cutLists();
    expect((await run(['acs', '--json'], { env: world.env('ledger', env) })).rows).toHaveLength(countActive());
    withoutTokens();
    await expect(run(['acs', '--json'], { env: world.env('ledger', env) })).rejects.toMatchObject({
      code: 'LEDGER_STREAM_TRUNCATED',
    });
  });

  it('prints the complete range of updates, or fails', async () => {
    cutUpdates();
    const complete = await run(['updates', '--json'], { env: world.env('ledger') });
    expect((await run(['updates', '--json'], { env: world.env('ledger', env) })).rows).toEqual(complete.rows);
    gateway.cuts = ({ path }) => path === '/v2/updates';
    await expect(run(['updates', '--json'], { env: world.env('ledger', env) })).rejects.toMatchObject({
      code: 'LEDGER_STREAM_TRUNCATED',
    });
  });
});
