/**
 * The least that keeps everything: each update as the JSON it came as, under its offset, and nothing to ask it by. Taken
 * from the recording itself, byte by byte. Long values are compressed as Postgres does it by default.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { Client } from 'pg';
import { headerLength } from '../replay/frame.ts';
import { recordingIndex, type Recording } from '../replay/recording.ts';
import { staged, type Baseline } from './baseline.ts';

/** Bytes of frames that one statement carries while rows are staged. */
const chunkBytes = 8_000_000;

const frames = `${staged}.frames`;

/** How often a text stands in the JSON: what the indexer has as rows is inside of it here. */
const times = (words: string): string =>
  `coalesce(sum((length(json::text) - length(replace(json::text, '${words}', ''))) / ${String(words.length)}), 0)`;

const countsIn = (table: string): string => `
  select updates, contracts, exercises, contracts - consuming as active, contents
    from (select count(*) as updates, ${times('"CreatedEvent":')} as contracts, ${times('"ExercisedEvent":')} as exercises,
                 ${times('"consuming":true')} as consuming,
                 coalesce(sum(hashtextextended(json::text, "offset")), 0)::text as contents
            from ${table}) as counted`;

async function prepare(client: Client, recording: Recording, count: number): Promise<void> {
  await client.query(`create unlogged table ${frames} ("offset" bigint, json text)`);
  const positions = recordingIndex(recording.path);
  const file = openSync(recording.path, 'r');
  try {
    for (let from = 0; from < count;) {
      let to = from + 1;
      while (to < count && (positions[to + 1] ?? 0) - (positions[from] ?? 0) < chunkBytes) to += 1;
      const texts = textsOf(file, positions, from, to);
      await client.query(
        `insert into ${frames} select $1 + n, json from unnest($2::text[]) with ordinality as given (json, n)`,
        [from, texts],
      );
      from = to;
    }
  } finally {
    closeSync(file);
  }
}

/** Frames `from` (from 0) to before `to`, without their headers. */
function textsOf(file: number, positions: Float64Array, from: number, to: number): readonly string[] {
  const start = positions[from] ?? 0;
  const bytes = Buffer.alloc((positions[to] ?? 0) - start);
  for (let at = 0; at < bytes.length;) at += readSync(file, bytes, at, bytes.length - at, start + at);
  return Array.from({ length: to - from }, (_, index) => {
    const frame = bytes.subarray((positions[from + index] ?? 0) - start, (positions[from + index + 1] ?? 0) - start);
    return frame.subarray(headerLength(frame)).toString();
  });
}

export const rawJson: Baseline = {
  name: 'raw JSON',
  schema: 'raw_json',
  types: '',
  layout: 'create table updates ("offset" bigint primary key, json json not null);',
  tables: [
    { name: 'updates', rows: `select "offset" as staged_at, "offset", json::json as json from ${frames} order by 1` },
  ],
  prepare,
  countsBefore: countsIn(frames),
  countsAfter: countsIn('updates'),
};
