/**
 * The smallest complete storage: each update as the received JSON, with its offset and no other columns. The JSON is
 * copied from the recording byte by byte. Long values have the default compression of Postgres.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Client } from 'pg';
import { runInOneRoundTrip } from '../../src/store/connection/round-trip.ts';
import { headerLength } from '../replay/frame.ts';
import { recordingIndex, type Recording } from '../replay/recording.ts';
import { stagedSchema, type Baseline } from './baseline.ts';

/** Maximum number of bytes of frames in one COPY while rows are staged. */
const chunkBytes = 8_000_000;

const rows = `${stagedSchema}.updates_rows`;

/**
 * SQL for the number of occurrences of a text in the JSON, because here the rows of the indexer are inside the JSON.
 */
const times = (repeatSql: string): string =>
  `coalesce(sum((length(json::text) - length(replace(json::text, '${repeatSql}', ''))) / ${String(repeatSql.length)}), 0)`;

const countsIn = (table: string): string => `
  select updates, contracts, exercises, contracts - consuming as active, contents
    from (select count(*) as updates, ${times('"CreatedEvent":')} as contracts, ${times('"ExercisedEvent":')} as exercises,
                 ${times('"consuming":true')} as consuming,
                 coalesce(sum(hashtextextended(json::text, "offset")), 0)::text as contents
            from ${table}) as counted`;

/** Stages the frames as they are in the recording, uncompressed, because they are only written to files. */
async function prepare(client: Client, recording: Recording, count: number): Promise<void> {
  await client.query(
    `create unlogged table ${rows} (staged_at bigint, "offset" bigint, json json);
     alter table ${rows} alter json set storage external`,
  );
  const positions = recordingIndex(recording.path);
  const file = openSync(recording.path, 'r');
  try {
    for (let from = 0; from < count;) {
      let to = from + 1;
      while (to < count && (positions[to + 1] ?? 0) - (positions[from] ?? 0) < chunkBytes) to += 1;
      const copy = copyOf(framesOf(file, positions, from, to), from + 1);
      await runInOneRoundTrip(client, [{ name: 'frames', text: `copy ${rows} from stdin (format binary)`, copy }]);
      from = to;
    }
  } finally {
    closeSync(file);
  }
}

/** Payloads of the frames from `from` (inclusive, counted from 0) to `to` (exclusive). */
function framesOf(file: number, positions: Float64Array, from: number, to: number): readonly Buffer[] {
  const start = positions[from] ?? 0;
  const bytes = Buffer.alloc((positions[to] ?? 0) - start);
  for (let readBytes = 0; readBytes < bytes.length;)
    readBytes += readSync(file, bytes, readBytes, bytes.length - readBytes, start + readBytes);
  return Array.from({ length: to - from }, (_, index) => {
    const frame = bytes.subarray((positions[from + index] ?? 0) - start, (positions[from + index + 1] ?? 0) - start);
    return frame.subarray(headerLength(frame));
  });
}

const head = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const end = Buffer.from([0xff, 0xff]);

/** One CopyData message with the binary rows of frames that begin at an offset. */
function copyOf(frames: readonly Buffer[], firstOffset: number): Buffer {
  const jsonParts = frames.flatMap((frame, index) => {
    const fields = Buffer.alloc(2 + 12 + 12 + 4);
    fields.writeInt16BE(3, 0);
    for (const column of [2, 14]) {
      fields.writeInt32BE(8, column);
      fields.writeBigInt64BE(BigInt(firstOffset + index), column + 4);
    }
    fields.writeInt32BE(frame.length, 26);
    return [fields, frame];
  });
  const body = Buffer.concat([head, ...jsonParts, end]);
  const message = Buffer.alloc(5);
  message.write('d');
  message.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([message, body]);
}

export const rawJson: Baseline = {
  name: 'raw JSON',
  schema: 'raw_json',
  types: '',
  layout: 'create table updates ("offset" bigint primary key, json json not null);',
  tables: [{ name: 'updates', rows: undefined }],
  prepare,
  countsBefore: countsIn(rows),
  countsAfter: countsIn('updates'),
};
