/**
 * The other session: polls the checkpoint as fast as its pause allows, and records when each value was first returned.
 * It is a process of its own, because its pause blocks (timers are too coarse). Arguments: URL of the database, schema,
 * last offset, pause in milliseconds.
 */
import { Client, escapeIdentifier } from 'pg';
import { progressSql } from './storage.ts';

const [url = '', schema = '', last = '0', pauseMs = '0'] = process.argv.slice(2);
const clock = new Int32Array(new SharedArrayBuffer(4));
const client = new Client({ connectionString: url, application_name: 'bench observer' });
await client.connect();
await client.query(`set search_path = ${escapeIdentifier(schema)}`);

const seenTimes: bigint[] = [];
const checkpoints: number[] = [];
const startNanos = process.hrtime.bigint();
let polls = 0;
for (let checkpoint = 0; checkpoint < Number(last);) {
  const { rows } = await client.query<{ checkpoint: string | null }>({ name: 'observe', text: progressSql });
  polls += 1;
  const value = Number(rows[0]?.checkpoint ?? 0);
  if (value !== checkpoint) {
    seenTimes.push(process.hrtime.bigint());
    checkpoints.push(value);
    checkpoint = value;
  }
  if (Number(pauseMs) > 0) Atomics.wait(clock, 0, 0, Number(pauseMs));
}
const pollMs = Number(process.hrtime.bigint() - startNanos) / 1e6 / polls;
await client.end();
process.send?.({ seenAt: BigInt64Array.from(seenTimes), checkpoints: Float64Array.from(checkpoints), pollMs }, () => {
  process.disconnect();
});
