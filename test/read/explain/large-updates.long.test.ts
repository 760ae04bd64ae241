/**
 * `explain` prints deep and wide updates correctly to the last node, in bounded memory, and notes omitted events.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main, program, type ProcessResult } from '../../cli/program.ts';
import * as frames from '../../support/frames.ts';
import { spawn } from 'node:child_process';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const levels = 1_000;
const width = 20_000;
const [deepOffset, wideOffset] = [1, 2];

function exercise(offset: number, nodeId: number, last: number, contractId: string): frames.JsonRecord {
  return {
    ExercisedEvent: frames.exercised({ offset, nodeId, contractId, lastDescendantNodeId: last, interfaceId: null }),
  };
}

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  const deepEvents = Array.from({ length: levels }, (_, index) =>
    exercise(deepOffset, index, levels, `00d${String(index)}`),
  );
  const bottomEvent = {
    CreatedEvent: frames.created({ offset: deepOffset, nodeId: levels, contractId: '00bb', interfaceViews: [] }),
  };
  const createdEvents = Array.from({ length: width - 1 }, (_, index) => ({
    CreatedEvent: frames.created({
      offset: wideOffset,
      nodeId: index + 1,
      contractId: `00e${String(index)}`,
      interfaceViews: [],
      createArgument: { note: 'x'.repeat(1_000) },
    }),
  }));
  await database.write(
    frames.transaction(deepOffset, [...deepEvents, bottomEvent]),
    frames.transaction(wideOffset, [exercise(wideOffset, 0, width - 1, '00ee'), ...createdEvents]),
  );
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const explain = (...args: readonly string[]): Promise<ProcessResult> =>
  program(['explain', ...args], { DATABASE_URL: database.url });

interface PrintedUpdate {
  readonly events: readonly {
    readonly node_id: number;
    readonly depth: number;
    readonly parent_node_id: number | null;
  }[];
  readonly events_omitted: number;
}

describe('explain of a deep update', () => {
  it('returns each node at a depth one greater than the previous node', async () => {
    const { stdout } = await explain(String(deepOffset), '--max-events', '2000', '--json');
    const { events, events_omitted: omittedCount } = JSON.parse(stdout) as PrintedUpdate;
    expect(omittedCount).toBe(0);
    expect(events.map(({ node_id: node, depth, parent_node_id: parent }) => [node, depth, parent])).toEqual(
      Array.from({ length: levels + 1 }, (_, index) => [index, index, index === 0 ? null : index - 1]),
    );
  });

  it('prints at most 80 columns at any depth', async () => {
    const { stdout } = await explain(String(deepOffset), '--max-events', '2000');
    const lines = stdout.split('\n');
    expect(lines.filter((line) => Array.from(line).length > 80)).toEqual([]);
    expect(lines.filter((line) => line.includes('Transfer on Iou'))).toHaveLength(levels);
    expect(stdout).toContain(`+${String(levels - 20)} + created Iou`);
  });
});

describe('explain of a wide update', () => {
  it('prints at most 1,000 events by default, and the number of omitted events', async () => {
    const { stdout, stderr, code } = await explain(String(wideOffset), '--json');
    expect([code, stderr]).toEqual([0, '']);
    const { events, events_omitted: omittedCount } = JSON.parse(stdout) as PrintedUpdate;
    expect([events.length, omittedCount]).toEqual([1_000, width - 1_000]);
    expect((await explain(String(wideOffset))).stdout).toContain('19000 more events omitted: raise --max-events');
  });

  it('omits events beyond the size limit of the output, in bounded memory', async () => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=120' };
    const args = [main, 'explain', String(wideOffset), '--max-events', '20000', '--json'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    const { events, events_omitted: omittedCount } = JSON.parse(text) as PrintedUpdate;
    expect(events.length).toBeGreaterThan(5_000);
    expect(events.length).toBeLessThan(width);
    expect(events.length + omittedCount).toBe(width);
  });

  it('exits with code 0 and no error when the output pipe is closed', async () => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: database.url };
    const args = [main, 'explain', String(wideOffset), '--max-events', '20000'];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
    expect([await new Promise((resolve) => child.once('close', resolve)), errors]).toEqual([0, '']);
  });
});
