/**
 * Completions are read concurrently with the stream. The outcome of every command is stored, even if no update contains
 * it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { alice, bank, CompletionWorld } from './completion-world.ts';

let world: CompletionWorld;
beforeEach(async () => {
  world = await CompletionWorld.open();
});
afterEach(() => world.close());

describe('explore.completions', () => {
  it('contains accepted commands with the update and rejected commands with the error', async () => {
    await using indexer = await world.run();
    const { body } = await world.submit('c-1', { submissionId: 's-1', actAs: [bank, alice] });
    expect((await world.submit('c-1', { submissionId: 's-2', actAs: [bank, alice] })).status).toBe(409);
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    await world.reaches(end);
    const [acceptedRow, rejectedRow] = await world.rows(
      `select c.*, c."offset"::int as "offset", u.update_id = c.update_id as with_update, c.record_time = u.record_time as same_time
         from explore.completions c left join explore.updates u using ("offset") order by c."offset"`,
    );
    expect(acceptedRow).toMatchObject({
      offset: body['completionOffset'],
      command_id: 'c-1',
      submission_id: 's-1',
      user_id: 'app',
      act_as: [alice, bank],
      succeeded: true,
      status_code: 0,
      status_message: null,
      error_code: null,
      error_category: null,
      with_update: true,
      same_time: true,
    });
    expect(rejectedRow).toMatchObject({
      submission_id: 's-2',
      act_as: [alice, bank],
      update_id: null,
      succeeded: false,
      status_code: 6,
      error_code: 'DUPLICATE_COMMAND',
      error_category: 10,
      with_update: null,
    });
    expect(rejectedRow?.['status_message']).toMatch(/^DUPLICATE_COMMAND\(10,[0-9a-f]{8}\): A command/);
    expect(await indexer.metric('indexer_completions_total{result="rejected"}')).toBe(1);
    expect(await indexer.metric('indexer_rejected_commands_total{code="DUPLICATE_COMMAND"}')).toBe(1);
    expect(await indexer.metric('indexer_completions_followed')).toBe(1);
  });
});

describe('completion reader', () => {
  it('turns off and reports the reason if the participant is older than 3.5.7', async () => {
    const olderWorld = await CompletionWorld.open({ release: '3.4' });
    await using indexer = await olderWorld.run();
    await olderWorld.submit('c-1');
    await indexer.reaches(olderWorld.sandbox.ledger.ledgerEnd());
    const isOff = async (): Promise<true | undefined> =>
      (await indexer.status()).completions.state === 'off' ? true : undefined;
    await waitFor('completions are off', isOff);
    expect((await indexer.status()).completions.reason).toContain('before release 3.5.7');
    expect(indexer.logged('completions are not followed')).toBe(1);
    expect(await indexer.metric('indexer_completions_followed')).toBe(0);
    expect((await indexer.status()).state).toBe('live');
    expect(await olderWorld.rows('select from explore.completions')).toEqual([]);
    await olderWorld.close();
  });

  it('stores nothing if INDEXER_COMPLETIONS is off', async () => {
    await using indexer = await world.run('ledger', { INDEXER_COMPLETIONS: 'off' });
    await world.submit('c-1');
    await indexer.reaches(1);
    expect((await indexer.status()).completions).toMatchObject({ state: 'off', reason: 'INDEXER_COMPLETIONS=off' });
    expect(await world.rows('select from ledger.completion_ranges')).toEqual([]);
  });

  it('retries failed requests from the last position without delaying the stream', async () => {
    const path = '/v2/commands/command-completions';
    world.sandbox.faults.refuseUpgrade = { path, as: 'SERVICE_NOT_RUNNING' };
    await using indexer = await world.run();
    for (const id of ['c-1', 'c-1', 'c-2']) await world.submit(id);
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    await waitFor('a failure is reported', async () =>
      (await indexer.status()).completions.state === 'failing' ? true : undefined,
    );
    expect((await indexer.status()).state).toBe('live');
    expect(await world.rows('select from explore.completions')).toEqual([]);
    world.sandbox.faults.refuseUpgrade = undefined;
    await world.reaches(end);
    expect(await world.rows('select from explore.completions')).toHaveLength(3);
    expect(indexer.logged('completions cannot be followed, trying again: the stream continues')).toBe(1);
  });
});

describe('completion reader', () => {
  it('records pruned completions as a gap and stores later completions', async () => {
    {
      await using blindIndexer = await world.run('ledger', { INDEXER_COMPLETIONS: 'off' });
      for (const id of ['c-1', 'c-1', 'c-2', 'c-2', 'c-3']) await world.submit(id);
      await blindIndexer.reaches(world.sandbox.ledger.ledgerEnd());
    }
    world.sandbox.ledger.pruneTo(3);
    await using indexer = await world.run();
    await world.submit('c-3');
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    await world.reaches(end);
    const rows = await world.rows('select "offset"::int as "offset", command_id from explore.completions order by 1');
    expect(rows.map(({ offset, command_id: id }) => [offset, id])).toEqual([
      [4, 'c-2'],
      [5, 'c-3'],
      [6, 'c-3'],
    ]);
    const ranges = await world.rows(
      'select from_offset::int as "from", to_offset::int as "to", status, reason from explore.completion_coverage',
    );
    expect(ranges.map(({ from, to, status }) => [from, to, status])).toEqual([
      [0, 0, 'complete'],
      [0, 3, 'gap'],
      [3, 6, 'complete'],
    ]);
    expect(ranges[1]?.['reason']).toContain('had pruned its completions up to offset 3');
    expect(indexer.logged('completions were pruned by the participant before they were read')).toBe(1);
  });
});

describe('rejected command', () => {
  it('is stored with cost, is_retryable and final outcome', async () => {
    await using indexer = await world.run();
    world.sandbox.ledger.completions.add(
      rejectCommand(world, 'late', { code: 'NOT_SEQUENCED_TIMEOUT', errorCategory: 2 }),
    );
    await world.submit('late');
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    await world.reaches(end);
    expect(
      await world.rows(
        `select error_code, is_retryable, reason, accepted_offset::int as accepted, paid_traffic_cost::int as cost
           from explore.rejected_commands where command_id = 'late'`,
      ),
    ).toEqual([
      { error_code: 'NOT_SEQUENCED_TIMEOUT', is_retryable: true, reason: 'for a reason', accepted: end, cost: 700 },
    ]);
    expect(
      await world.rows(
        'select error_code, user_id, commands::int as n, paid_traffic_cost::int as cost from explore.wasted_traffic',
      ),
    ).toEqual([{ error_code: 'NOT_SEQUENCED_TIMEOUT', user_id: 'app', n: 1, cost: 700 }]);
    const latencies = await world.rows(
      `select command_id, began_at_source, latency >= interval '0' as valid from explore.command_latency order by "offset"`,
    );
    expect(latencies).toEqual([
      { command_id: 'late', began_at_source: null, valid: null },
      { command_id: 'late', began_at_source: 'effective_at', valid: true },
    ]);
  });

  it('is stored without contents of a contract that is redacted before or after its arrival', async () => {
    const contractId = `00${'ab'.repeat(32)}`;
    const refusal = { code: 'CONTRACT_NOT_FOUND', errorCategory: 11, resources: [['CONTRACT_ID', contractId]] };
    await using indexer = await world.run();
    const waitForCompletion = async (id: string): Promise<void> => {
      world.sandbox.ledger.completions.add(rejectCommand(world, id, refusal));
      const end = world.sandbox.ledger.ledgerEnd();
      await indexer.reaches(end);
      await world.reaches(end);
    };
    await waitForCompletion('before');
    await world.rows(
      `insert into ledger.redactions (redaction_id, subject, contract_id, reason, requested_by) values ('r', 'contract', '', '', '');
       select from pqs.__redact_contracts(array['${contractId}'], 'r', false)`,
    );
    await waitForCompletion('after');
    expect(
      await world.rows(
        'select command_id, contract_id, error_code, status_message, redaction_id from explore.completions order by "offset"',
      ),
    ).toEqual(
      ['before', 'after'].map((id) => ({
        command_id: id,
        contract_id: contractId,
        error_code: 'CONTRACT_NOT_FOUND',
        status_message: null,
        redaction_id: 'r',
      })),
    );
  });
});

/** Completion of a command that was rejected after sequencing, with its own offset. */
function rejectCommand({ sandbox: { ledger } }: CompletionWorld, commandId: string, refusal: object) {
  ledger.skipOffsets(1);
  const acceptedTime = ledger.clock();
  const [{ id: synchronizerId }] = ledger.synchronizers;
  return {
    userId: 'app',
    actAs: [alice],
    commandId,
    submissionId: '',
    deduplication: { kind: 'offset', offset: 0 } as const,
    externalHash: null,
    offset: ledger.ledgerEnd(),
    at: acceptedTime,
    refusal: { grpcCodeValue: 10, cause: 'for a reason', traceId: 'abcdef0123456789', context: {}, ...refusal },
    updateId: '',
    synchronizerId,
    recordTime: ledger.recordTime(synchronizerId, acceptedTime),
    traceContext: null,
    paidTrafficCost: 700,
  };
}
