/** The redactions that the writer must apply, loaded when a session begins. */
import type { ClientBase } from 'pg';
import { Redactions } from '../../model/redactions.ts';
import { tablesOf } from '../connection/query-builder.ts';

/**
 * Loads the redactions, all of whose ids are held in memory. Returns undefined if there are none, so that the writer
 * does not have to check for them.
 */
export async function loadRedactions(client: ClientBase): Promise<Redactions | undefined> {
  const contracts = await tablesOf(client)
    .selectFrom('redacted_contracts')
    .select(['contract_id as contractId', 'redaction_id as redactionId', 'exercises'])
    .execute();
  const exercises = await tablesOf(client)
    .selectFrom('redacted_exercises')
    .select(['offset', 'node_id as nodeId', 'update_id as updateId', 'redaction_id as redactionId'])
    .execute();
  return contracts.length === 0 && exercises.length === 0 ? undefined : new Redactions(contracts, exercises);
}
