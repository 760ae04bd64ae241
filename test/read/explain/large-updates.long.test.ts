/**
 * `explain` prints deep and wide updates correctly to the last node, in bounded memory, and notes omitted events.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main, program, type Ended } from '../../cli/program.ts';
import * as frames from '../../support/frames.ts';
import { spawn } from 'node:child_process';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

const levels = 1_000;
const width = 20_000;
const [deepAt, wideAt] = [1, 2];

function exercise(offset: number, nodeId: number, last: number, contractId: string): frames.JsonRecord {
  return {
    ExercisedEvent: frames.exercised({ offset, nodeId, contractId, lastDescendantNodeId: last, interfaceId: null }),
  };
}

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  const deep = Array.from({ length: levels }, (_, at) => exercise(deepAt, at, levels, `00d${String(at)}`));
  const bottom = {
    CreatedEvent: frames.created({ offset: deepAt, nodeId: levels, contractId: '00bb', interfaceViews: [] }),
  };
  const created = Array.from({ length: width - 1 }, (_, at) => ({
    CreatedEvent: frames.created({
      offset: wideAt,
      nodeId: at + 1,
      contractId: `00e${String(at)}`,
      interfaceViews: [],
      createArgument: { note: 'x'.repeat(1_000) },
    }),
  }));
  await database.write(
    frames.transaction(deepAt, [...deep, bottom]),
    frames.transaction(wideAt, [exercise(wideAt, 0, width - 1, '00ee'), ...created]),
  );
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const explain = (...words: readonly string[]): Promise<Ended> =>
  program(['explain', ...words], { DATABASE_URL: database.url });

interface Printed {
  readonly events: readonly {
    readonly node_id: number;
    readonly depth: number;
    readonly parent_node_id: number | null;
  }[];
  readonly events_omitted: number;
}

describe('explain of a deep update', () => {
  it('returns each node at a depth one greater than the previous node', async () => {
    const { stdout } = await explain(String(deepAt), '--max-events', '2000', '--json');
    const { events, events_omitted: leftOut } = JSON.parse(stdout) as Printed;
    expect(leftOut).toBe(0);
    expect(events.map(({ node_id: node, depth, parent_node_id: parent }) => [node, depth, parent])).toEqual(
      Array.from({ length: levels + 1 }, (_, at) => [at, at, at === 0 ? null : at - 1]),
    );
  });

  it('prints at most 80 columns at any depth', async () => {
    const { stdout } = await explain(String(deepAt), '--max-events', '2000');
    const lines = stdout.split('\n');
    expect(lines.filter((line) => Array.from(line).length > 80)).toEqual([]);
    expect(lines.filter((line) => line.includes('Transfer on Iou'))).toHaveLength(levels);
    expect(stdout).toContain(`+${String(levels - 20)} + created Iou`);
  });
});

describe('explain of a wide update', () => {
  it('prints at most 1,000 events by default, and the number of omitted events', async () => {
    const { stdout, stderr, code } = await explain(String(wideAt), '--json');
    expect([code, stderr]).toEqual([0, '']);
    const { events, events_omitted: leftOut } = JSON.parse(stdout) as Printed;
    expect([events.length, leftOut]).toEqual([1_000, width - 1_000]);
    expect((await explain(String(wideAt))).stdout).toContain('19000 more events omitted: raise --max-events');
  });

  it('omits events beyond the size limit of the output, in bounded memory', async () => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: database.url, NODE_OPTIONS: '--max-old-space-size=120' };
    const words = [main, 'explain', String(wideAt), '--max-events', '20000', '--json'];
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    const { events, events_omitted: leftOut } = JSON.parse(text) as Printed;
    expect(events.length).toBeGreaterThan(5_000);
    expect(events.length).toBeLessThan(width);
    expect(events.length + leftOut).toBe(width);
  });

  it('exits with code 0 and no error when the output pipe is closed', async () => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: database.url };
    const words = [main, 'explain', String(wideAt), '--max-events', '20000'];
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (errors += piece));
    expect([await new Promise((resolve) => child.once('close', resolve)), errors]).toEqual([0, '']);
  });
});
