/** `redact party` removes the labels of the party, together with its contents or without any contract. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { labelsCommand } from '../../src/cli/labels/labels.ts';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as frames from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';
import { createReadDatabase, type ReadDatabase } from '../read/read-database.ts';

const { alice, bob } = frames;
const nameless = 'nameless::1220';
let database: ReadDatabase;
let folder: string;

beforeAll(async () => {
  database = await createReadDatabase();
  await database.write(
    frames.transaction(1, [{ CreatedEvent: frames.created({ contractId: '00c1', offset: 1 }) }]),
    frames.transaction(2, [{ CreatedEvent: frames.created({ contractId: '00c2', offset: 2 }) }]),
    frames.transaction(3, [{ ExercisedEvent: frames.exercised({ contractId: '00c1', offset: 3 }) }]),
  );
  folder = mkdtempSync(join(tmpdir(), 'redacted-labels-'));
  writeFileSync(join(folder, 'one.csv'), `party,label\n${alice},Alice\n${bob},Bob\n${nameless},No One\n`);
  writeFileSync(join(folder, 'two.csv'), `party,label\n${alice},Alice again\n`);
  await load('one.csv');
  await load('two.csv');
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database[Symbol.asyncDispose]();
});

async function run(command: typeof redactCommand, ...argv: readonly string[]): Promise<string> {
  const lines: string[] = [];
  await runCommand(command, argv, { DATABASE_URL: database.url }, { print: (line) => lines.push(line) });
  return lines.join('\n');
}

const load = (name: string): Promise<string> => run(labelsCommand, 'load', join(folder, name));

async function redact(party: string, ...flags: readonly string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await run(redactCommand, 'party', party, '--reason', 'left', '--json', ...flags)) as never;
}

async function labelled(): Promise<readonly unknown[]> {
  return (await database.query(`select party || ' ' || source as line from party_labels order by 1`)).map(
    ({ line }) => line,
  );
}

const redactionsOf = (party: string) =>
  database.query(`select contracts::integer, labels::integer from redactions where party = $1`, [party]);

describe('redact party', () => {
  it('lists labels in the preview, and removes them with the contents in one transaction', async () => {
    expect(await redact(alice)).toMatchObject({ labels: 2, contracts: 1, skippedActive: 1 });
    expect(await labelled()).toHaveLength(4);
    expect(await run(redactCommand, 'party', alice, '--reason', 'left')).toMatch(/party_labels +2 rows/);
    // The redaction fails after the labels are removed, so that nothing may be changed.
    await database.query(`alter table contracts add constraint kept check (payload is not null) not valid`);
    await expect(redact(alice, '--yes')).rejects.toThrow();
    expect([await labelled(), await redactionsOf(alice)]).toEqual([expect.objectContaining({ length: 4 }), []]);
    await database.query(`alter table contracts drop constraint kept`);
    expect(await redact(alice, '--yes')).toMatchObject({ labels: 2, contracts: 1, finished: true });
    expect(await labelled()).toEqual([`${bob} one`, `${nameless} one`]);
    expect(await redactionsOf(alice)).toEqual([{ contracts: 1, labels: 2 }]);
    expect((await database.query(`select explore.party_label('${alice}') as label`))[0]).toEqual({ label: null });
  });

  it('removes the label of a party without contracts, and then refuses it', async () => {
    expect(await redact(nameless)).toMatchObject({ labels: 1, contracts: 0 });
    expect(await redact(nameless, '--yes')).toMatchObject({ labels: 1, contracts: 0, finished: true });
    expect(await labelled()).toEqual([`${bob} one`]);
    expect(await redactionsOf(nameless)).toEqual([{ contracts: 0, labels: 1 }]);
    await expect(redact(nameless, '--yes')).rejects.toMatchObject({ code: 'REDACTION_REFUSED' });
  });

  it('does not remove labels if a contract or an exercise is redacted', async () => {
    await run(redactCommand, 'contract', '00c2', '--reason', 'r', '--include-active', '--yes');
    await run(redactCommand, 'exercise', '3:1', '--reason', 'r', '--yes');
    expect(await labelled()).toEqual([`${bob} one`]);
  });

  it('lets only a new load bring the label back, which reports it', async () => {
    expect(await load('one.csv')).toContain('2 labels added, 0 changed, 1 unchanged');
    expect(await load('one.csv')).toContain('2 labels are of redacted parties');
    expect(await labelled()).toHaveLength(3);
  });
});
