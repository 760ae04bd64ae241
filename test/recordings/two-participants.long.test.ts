/**
 * Two participants of one network were recorded while they sent the same updates to the same parties. The indexer reads
 * from the first participant, and later from the second. Each update and event is stored once, as its participant sent
 * it.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { switchParticipant } from '../switch-participant/switch-run.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runsFor } from '../support/chance/property.ts';
import { fixtureLines } from '../support/wire/fixtures.ts';
import { compare } from './comparison.ts';
import { expectationOf } from './expectation.ts';
import { countLeaves } from './json.ts';
import { frameOf, type Frame, type Recording } from './recording.ts';
import { recordedFilter, startReplay, type ReplayServer } from './replay-server.ts';

/** The recorded frames, byte for byte. */
function framesIn(name: string): readonly Frame[] {
  return fixtureLines(`recordings/two-participants/${name}.jsonl`).map(frameOf);
}

function recordingOf(frames: readonly Frame[], participantId: string): Recording {
  const end = frames.at(-1)?.offset ?? 0;
  const updates = { LEDGER_EFFECTS: frames, ACS_DELTA: frames };
  return { updates, version: '{"version":"3.5.4"}', participantId, end, activeContracts: [] };
}

/** The same frame at another offset. A frame contains only one number named offset. */
function shiftOffset({ text, offset }: Frame, shift: number): Frame {
  return frameOf(text.replaceAll(`"offset":${offset},`, `"offset":${offset + shift},`));
}

describe('two participants with the same updates', () => {
  let first: Recording;
  let second: Recording;
  let database: TestDatabase;
  let client: Client;
  let servers: readonly [ReplayServer, ReplayServer];

  beforeAll(async () => {
    first = recordingOf(framesIn('first'), 'first::1220aa');
    second = recordingOf(framesIn('second'), 'second::1220bb');
    servers = [await startReplay(first, first.end), await startReplay(second, second.end)];
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  const env = ({ url }: ReplayServer): Record<string, string> => ({
    ...recordedFilter,
    LEDGER_URL: url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: 'ledger',
    INDEXER_START: 'genesis',
    INDEXER_BATCH_UPDATES: '7',
  });
  const follow = async (server: ReplayServer, offset: number): Promise<void> => {
    await using indexer = await runIndexer(env(server));
    await indexer.reaches(offset);
  };
  const frames = (): readonly [readonly Frame[], readonly Frame[]] => [
    first.updates.LEDGER_EFFECTS,
    second.updates.LEDGER_EFFECTS,
  ];

  it('send the same update ids at different offsets', () => {
    const [firstFrames, secondFrames] = frames();
    const ids = (frameList: readonly Frame[]) => frameList.map(({ value }) => value.fields.get('updateId'));
    expect(ids(firstFrames)).toEqual(ids(secondFrames));
    expect(firstFrames.filter(({ offset }, index) => offset === secondFrames[index]?.offset)).toEqual([]);
  });

  const updates = framesIn('first').length;
  // Evenly spaced from the first update to the last. TEST_RUNS=65 switches after each update.
  const runs = Math.min(updates, runsFor(9));
  const splitIndexes = Array.from(
    { length: runs },
    (_, run) => 1 + Math.round((run * (updates - 1)) / Math.max(1, runs - 1)),
  );
  it.each(splitIndexes)('result in one history if the stream switches after %i updates', async (cutIndex) => {
    const [firstFrames, secondFrames] = frames();
    const [cutOffset, last, ownOffsets] = [
      firstFrames[cutIndex - 1]?.offset ?? 0,
      secondFrames.at(-1)?.offset ?? 0,
      secondFrames[cutIndex - 1]?.offset ?? 0,
    ];
    for (const schema of ['explore', 'typed', 'pqs_multisync', 'pqs', 'ledger'])
      await client.query(`drop schema if exists ${schema} cascade`);
    servers[0].growTo(cutOffset);
    await follow(servers[0], cutOffset);
    expect(await switchParticipant(env(servers[1]))).toContain(`  ${cutIndex} of its updates, up to`);
    const shift = cutOffset - ownOffsets;
    await follow(servers[1], last + shift);
    const secondUpdates = secondFrames.slice(cutIndex).map((frame) => shiftOffset(frame, shift));
    const recording = {
      ...recordingOf([...firstFrames.slice(0, cutIndex), ...secondUpdates], second.participantId),
      end: last + shift,
    };
    const expectation = expectationOf(
      { ...recording, second: { from: cutOffset, shift } },
      'LEDGER_EFFECTS',
      undefined,
      [cutOffset],
    );
    const { differences, recorded: recordedCount, compared: comparedCount } = await compare(client, expectation);
    expect(differences.slice(0, 5)).toEqual([]);
    expect(recordedCount).toBe(recording.updates.LEDGER_EFFECTS.reduce((sum, { json }) => sum + countLeaves(json), 0));
    expect(comparedCount).toBeGreaterThan(recordedCount);
  });
});
