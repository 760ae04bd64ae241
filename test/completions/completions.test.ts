/** Completions are followed beside the stream: what became of every command is in the tables, also where no update tells. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { alice, bank, CompletionWorld } from './completion-world.ts';

let world: CompletionWorld;
beforeEach(async () => {
  world = await CompletionWorld.open();
});
afterEach(() => world.close());

describe('the completion of a command', () => {
  it('is a row: accepted with its update, rejected with its reason', async () => {
    await using indexer = await world.run();
    const { body } = await world.submit('c-1', { submissionId: 's-1', actAs: [bank, alice] });
    expect((await world.submit('c-1', { submissionId: 's-2', actAs: [bank, alice] })).status).toBe(409);
    const end = world.sandbox.ledger.ledgerEnd();
    await indexer.reaches(end);
    await world.reaches(end);
    const [accepted, rejected] = await world.rows(
      `select c.*, c."offset"::int as "offset", u.update_id = c.update_id as with_update, c.record_time = u.record_time as same_time
         from explore.completions c left join explore.updates u using ("offset") order by c."offset"`,
    );
    expect(accepted).toMatchObject({
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
    expect(rejected).toMatchObject({
      submission_id: 's-2',
      act_as: [alice, bank],
      update_id: null,
      succeeded: false,
      status_code: 6,
      error_code: 'DUPLICATE_COMMAND',
      error_category: 10,
      with_update: null,
    });
    expect(rejected?.['status_message']).toMatch(/^DUPLICATE_COMMAND\(10,[0-9a-f]{8}\): A command/);
    expect(await indexer.metric('indexer_completions_total{result="rejected"}')).toBe(1);
    expect(await indexer.metric('indexer_rejections_total{code="DUPLICATE_COMMAND"}')).toBe(1);
    expect(await indexer.metric('indexer_completions_followed')).toBe(1);
  });
});
