/** The response to a submitter that waits. It contains the part of the transaction that the submitter can see. */
import { require } from '../identity/caller.ts';
import type { Call } from './endpoint.ts';
import { parseUpdateFormat } from '../contracts/format.ts';
import type { UpdateFormat } from '../contracts/format.ts';
import type { StoredUpdate } from '../ledger/history.ts';
import { asObject } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Submission } from '../ledger/commands.ts';
import { eventFormatNeeds } from '../identity/read-rights.ts';
import { Renderer } from './render.ts';
import { treeOf } from './trees.ts';

type Readers = Pick<Submission, 'actAs' | 'readAs'>;

/** A format with everything that is visible to the submitting and reading parties. */
function ownFormat({ actAs, readAs = [] }: Readers, transactionShape: string): JsonObject {
  const filtersByParty = Object.fromEntries([...actAs, ...readAs].map((party) => [party, {}]));
  return { eventFormat: { filtersByParty }, transactionShape };
}

/**
 * The format of the response: the requested one, otherwise ACS_DELTA for the parties of the submission. Checks the
 * rights for it.
 */
export function answerFormat(
  { participant, caller }: Call,
  readers: Readers,
  transactionFormat: Json | undefined,
): UpdateFormat {
  const requestedFormat = asObject(transactionFormat);
  if (requestedFormat !== undefined) require(caller, eventFormatNeeds(requestedFormat['eventFormat']));
  const includeTransactions = requestedFormat ?? ownFormat(readers, 'TRANSACTION_SHAPE_ACS_DELTA');
  return parseUpdateFormat({ includeTransactions }, participant.ledger.model, participant.release);
}

/** The update that a submission created at the offset. */
export function updateAt({ participant }: Call, offset: number): StoredUpdate {
  const [storedUpdate] = participant.ledger.range(offset - 1, offset, 1);
  if (storedUpdate === undefined) throw new Error('a submission left no update');
  return storedUpdate;
}

/** `{"transaction":…}`; without events if the format makes none visible. */
export function transactionResponse(call: Call, offset: number, format: UpdateFormat): string {
  const storedUpdate = updateAt(call, offset);
  if (storedUpdate.update === undefined || !('Transaction' in storedUpdate.update))
    throw new Error('not a transaction');
  const { value } = storedUpdate.update.Transaction;
  const visibleTransaction = new Renderer(call.participant).transaction(
    value,
    storedUpdate.archived,
    format.transactions,
  );
  return JSON.stringify({ transaction: visibleTransaction ?? { ...value, events: [] } });
}

/** `{"transactionTree":…}` of the deprecated endpoint. */
export function treeResponse(call: Call, offset: number, readers: Readers): string {
  const includeTransactions = ownFormat(readers, 'TRANSACTION_SHAPE_LEDGER_EFFECTS');
  const format = parseUpdateFormat({ includeTransactions }, call.participant.ledger.model, call.participant.release);
  const transactionTree = treeOf(new Renderer(call.participant), updateAt(call, offset), format) ?? null;
  return JSON.stringify({ transactionTree });
}
