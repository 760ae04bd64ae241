/** A transaction on several workers that fails. */
import { expect } from 'vitest';
import { runInTransaction, type Statement } from '../../src/store/connection/round-trip.ts';
import type { CitusPlace } from './places.ts';

/**
 * Writes rows to different workers in one transaction, then a row that fails. Returns the rows that remain. There must
 * be none.
 */
export async function stateAfterFailure(citusPlace: CitusPlace): Promise<unknown> {
  const insert = (offset: number): Statement => ({
    name: 'add-completion',
    text: `insert into completions ("offset", status_code, submitters_key) values ($1, 0, '')`,
    values: [offset],
  });
  const fails: Statement = { name: 'fails', text: `select 1 / (count(*) - count(*)) from stream` };
  const flight = [insert(900_001), insert(900_002), insert(900_003), fails];
  await expect(citusPlace.database.withClient((client) => runInTransaction(client, flight))).rejects.toThrow('22012');
  return citusPlace.query('select count(*)::integer as left from completions where "offset" > 900000');
}
