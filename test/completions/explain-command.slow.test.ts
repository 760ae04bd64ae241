/** `explain` of commands prints why a command was rejected and what a command changed, and handles ambiguous ids. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program, type ProcessResult } from '../cli/program.ts';
import { alice, bank, CompletionWorld } from './completion-world.ts';

let world: CompletionWorld;
let acceptedOffset: number;

beforeAll(async () => {
  world = await CompletionWorld.open();
  await using indexer = await world.run();
  const { body } = await world.submit('pay-17', { submissionId: 's-1', actAs: [bank, alice] });
  acceptedOffset = Number(body['completionOffset']);
  await world.submit('pay-17', { submissionId: 's-2', actAs: [bank, alice] });
  const missingTemplate = {
    templateId: '#model-tests:Iou:Iou',
    contractId: `00${'ee'.repeat(32)}`,
    choice: 'Archive',
    choiceArgument: {},
  };
  await world.submit('gone-18', { commands: [{ ExerciseCommand: missingTemplate }] });
  // A command whose id is also an offset.
  await world.submit(String(acceptedOffset));
  const end = world.sandbox.ledger.ledgerEnd();
  await indexer.reaches(end);
  await world.reaches(end);
});
afterAll(() => world.close());

const explain = (...args: readonly string[]): Promise<ProcessResult> =>
  program(['explain', ...args], {
    DATABASE_URL: world.database.url,
    INDEXER_TRACE_URL_TEMPLATE: 'https://traces.example/t/{trace_id}',
  });

describe('explain COMMAND_ID', () => {
  it('prints the acceptance, the later rejection as a duplicate, and the update', async () => {
    const { code, stdout, stderr } = await explain('pay-17');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`accepted as update`);
    expect(stdout).toMatch(/Z {2}rejected DUPLICATE_COMMAND\n[\s\S]* category 10, gRPC code 6\n/);
    expect(stdout).toContain(`nevertheless accepted at offset ${String(acceptedOffset)}`);
    expect(stdout).toMatch(/by user app as Alice::1220aa, Bank::1220aa/);
    expect(stdout).toMatch(/\+ created Iou [\s\S]*currency: USD/);
    expect(stdout.split('\n').filter((line) => Array.from(line).length > 80)).toEqual([]);
  });

  it('returns the same outcomes with --json as explore.explain_command()', async () => {
    const { stdout } = await explain('pay-17', '--json');
    const { kind, outcomes, update } = JSON.parse(stdout) as {
      kind: string;
      outcomes: readonly Record<string, unknown>[];
      update: { summary: Record<string, unknown>; events: readonly unknown[] };
    };
    expect(kind).toBe('command');
    expect(outcomes).toEqual(
      (await world.rows(`select row_to_json(c) as line from explore.explain_command('pay-17') c`)).map(
        ({ line }) => line,
      ),
    );
    expect(
      outcomes.map(({ succeeded: hasSucceeded, submission_id: id, accepted_offset: acceptedAt }) => [
        hasSucceeded,
        id,
        acceptedAt,
      ]),
    ).toEqual([
      [true, 's-1', null],
      [false, 's-2', acceptedOffset],
    ]);
    expect(update.summary).toMatchObject({
      offset: acceptedOffset,
      command_id: 'pay-17',
      user_id: 'app',
      act_as: [alice, bank],
    });
    expect(update.events).toHaveLength(1);
  });

  it('reports a command rejected at submission as unknown, with the reason', async () => {
    const { code, stdout, stderr } = await explain('gone-18');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/no update, contract or command of id "gone-18"[\s\S]*refused at once leaves no completion/);
  });

  it('requires --as if the command id is also an offset', async () => {
    const { code, stdout, stderr } = await explain(String(acceptedOffset));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/is the offset of an update and a command here[\s\S]*--as update/);
    expect((await explain(String(acceptedOffset), '--as', 'command')).stdout).toMatch(/^command\n/);
    expect((await explain(String(acceptedOffset), '--as', 'update')).stdout).toMatch(/^transaction /);
  });

  it('rejects unknown ids and invalid values of --as and --max-events', async () => {
    expect((await explain('nothing')).stderr).toMatch(
      /no update, contract or command of id "nothing" is here; history is known from/,
    );
    expect((await explain('nothing', '--as', 'contract')).stderr).toMatch(/no contract of id/);
    expect((await explain('pay-17', '--as', 'party')).stderr).toMatch(/is not update, contract or command/);
    expect((await explain('pay-17', '--max-events', '0')).stderr).toMatch(/is not a number from 1/);
  });
});
