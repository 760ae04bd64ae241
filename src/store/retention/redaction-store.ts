/** What the writer has to know about redactions, loaded when a session begins. */
import type { ClientBase } from 'pg';
import { Redactions, type RedactedContract, type RedactedExercise } from '../../model/redactions.ts';

/** Undefined when nothing was ever redacted, which costs the writer nothing. All ids are held in memory. */
export async function loadRedactions(client: ClientBase): Promise<Redactions | undefined> {
  const contracts = await client.query<RedactedContract>(
    'select contract_id as "contractId", redaction_id as "redactionId", exercises from redacted_contracts',
  );
  const exercises = await client.query<RedactedExercise>(
    `select "offset", node_id as "nodeId", update_id as "updateId", redaction_id as "redactionId"
       from redacted_exercises`,
  );
  if (contracts.rows.length === 0 && exercises.rows.length === 0) return undefined;
  return new Redactions(contracts.rows, exercises.rows);
}
