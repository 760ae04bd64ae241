/**
 * Kills the built program repeatedly while commands are submitted, accepted and rejected. In the end every command is
 * found by its id, with its outcome, exactly once. The same applies when a token loses its rights and gets them back.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Random } from '../../packages/ledger-sandbox/src/wire/random.ts';
import { CompletionWorld, alice } from '../completions/completion-world.ts';
import { expiresIn, sharedSecret, token } from '../support/tokens.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { startDaemon, type Daemon } from './runs/daemon.ts';

let world: CompletionWorld;
beforeEach(async () => {
  world = await CompletionWorld.open();
});
afterEach(() => world.close());

const daemon = (env: Readonly<Record<string, string>> = {}): Daemon =>
  startDaemon({
    ledgerUrl: world.sandbox.url,
    databaseUrl: world.database.url,
    schema: 'ledger',
    env: { INDEXER_START: 'genesis', ...env },
  });

/** The outcome of each submission as reported to its submitter, one line each. */
async function submitCommands(random: Random, from: number, count: number): Promise<readonly string[]> {
  const outcomeLines: string[] = [];
  for (let at = from; at < from + count; at += 1) {
    const commandId = `c-${String(at)}`;
    const outcomes = [await world.submit(commandId, { submissionId: `${commandId}-1` })];
    if (random.chance(0.5)) outcomes.push(await world.submit(commandId, { submissionId: `${commandId}-2` }));
    for (const [index, { status, body }] of outcomes.entries()) {
      outcomeLines.push(
        `${commandId}-${String(index + 1)} ${status === 200 ? String(body['updateId']) : String(body['code'])}`,
      );
    }
  }
  return outcomeLines;
}

async function storedCompletions(): Promise<readonly string[]> {
  const rows = await world.rows(
    `select submission_id || ' ' || coalesce(update_id, error_code) as line from explore.completions order by "offset"`,
  );
  return rows.map(({ line }) => String(line));
}

describe('indexer killed while following completions', () => {
  it('stores each completion exactly once', async () => {
    const random = new Random(3);
    const outcomeLines: string[] = [];
    for (let lifeIndex = 0; lifeIndex < 12; lifeIndex += 1) {
      await using killedDaemon = daemon({ INDEXER_BATCH_UPDATES: String(random.between(1, 8)) });
      if (lifeIndex % 3 === 0) await killedDaemon.logged('following completions');
      const submitting = submitCommands(random, outcomeLines.length, random.between(10, 30));
      await pause(random.between(0, 400));
      await killedDaemon.kill();
      outcomeLines.push(...(await submitting));
    }
    await using last = daemon();
    await world.reaches(world.sandbox.ledger.ledgerEnd());
    last.signal('SIGTERM');
    expect(await last.exited).toEqual({ code: 0, signal: null });
    expect(outcomeLines.filter((line) => line.endsWith('DUPLICATE_COMMAND')).length).toBeGreaterThan(30);
    expect(await storedCompletions()).toEqual(outcomeLines);
    const rejectedRows = await world.rows(
      'select command_id from explore.rejected_commands group by 1 having count(*) = 1',
    );
    expect(rejectedRows).toHaveLength(outcomeLines.filter((line) => line.endsWith('DUPLICATE_COMMAND')).length);
    const [ranges] = await world.rows(
      'select count(*)::int as n, min(from_offset)::int as "from" from ledger.completion_ranges',
    );
    expect(ranges).toEqual({ n: 1, from: 0 });
  }, 240_000);
});

describe('indexer with revoked rights', () => {
  it('stores all completions after the rights are granted again', async () => {
    const secret = 'a shared secret for completions';
    await world.close();
    const readRights = [{ kind: 'CanReadAsAnyParty' as const }];
    world = await CompletionWorld.open({
      auth: { secret, rightsCheckMs: 50, users: [{ id: 'reader', rights: readRights }] },
    });
    const { sandbox } = world;
    // Enough time: if the indexer does not notice that the rights were missing, its next attempt is a minute later.
    const exp = expiresIn(240_000);
    const reader = await token(sharedSecret(secret), { sub: 'reader', exp });
    const admin = await token(sharedSecret(secret), { sub: 'participant_admin', exp });
    const change = async (method: 'POST' | 'PATCH'): Promise<void> => {
      const rights = [{ kind: { CanReadAsAnyParty: { value: {} } } }];
      const response = await fetch(`${sandbox.url}/v2/users/reader/rights`, {
        method,
        headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
        body: JSON.stringify({ userId: 'reader', identityProviderId: '', rights }),
      });
      expect(response.status).toBe(200);
    };
    await using indexer = await world.run('ledger', { LEDGER_TOKEN: reader });
    const submission = (commandId: string) =>
      ({
        commands: [
          {
            kind: 'create',
            templateId: '#model-tests:Iou:Iou',
            argument: { issuer: alice, owner: alice, currency: 'USD', amount: '1', observers: [] },
          },
        ],
        actAs: [alice],
        userId: 'app',
        commandId,
      }) as const;
    const submitTwice = (commandId: string): void => {
      sandbox.ledger.submit(submission(commandId));
      expect(() => sandbox.ledger.submit(submission(commandId))).toThrow();
    };
    submitTwice('before');
    await indexer.reaches(sandbox.ledger.ledgerEnd());
    await world.reaches(sandbox.ledger.ledgerEnd());
    await change('PATCH');
    submitTwice('meanwhile');
    await waitFor('it is refused', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    await change('POST');
    submitTwice('after');
    // The next attempt may be a minute later, if the indexer did not notice that the rights were missing.
    await world.reaches(sandbox.ledger.ledgerEnd(), 'ledger', 120_000);
    const rows = await world.rows(
      `select command_id, count(*)::int as n, count(*) filter (where not succeeded)::int as rejected from explore.completions group by 1 order by min("offset")`,
    );
    expect(rows).toEqual(['before', 'meanwhile', 'after'].map((id) => ({ command_id: id, n: 2, rejected: 1 })));
  }, 240_000);
});
