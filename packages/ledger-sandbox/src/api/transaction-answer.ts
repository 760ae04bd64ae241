/** The transaction of a submission as its submitter sees it: the answer of those who wait for it. */
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

/** Everything the submitting and reading parties see. */
function ownFormat({ actAs, readAs = [] }: Readers, transactionShape: string): JsonObject {
  const filtersByParty = Object.fromEntries([...actAs, ...readAs].map((party) => [party, {}]));
  return { eventFormat: { filtersByParty }, transactionShape };
}

/** The format to answer in, ACS_DELTA for the parties of the submission unless one is asked for. Checks its rights. */
export function answerFormat({ participant, caller }: Call, readers: Readers, asked: Json | undefined): UpdateFormat {
  const given = asObject(asked);
  if (given !== undefined) require(caller, eventFormatNeeds(given['eventFormat']));
  const includeTransactions = given ?? ownFormat(readers, 'TRANSACTION_SHAPE_ACS_DELTA');
  return parseUpdateFormat({ includeTransactions }, participant.ledger.model, participant.release);
}

/** The update that a submission left at the offset. */
export function storedAt({ participant }: Call, offset: number): StoredUpdate {
  const [stored] = participant.ledger.range(offset - 1, offset, 1);
  if (stored === undefined) throw new Error('a submission left no update');
  return stored;
}

/** `{"transaction":…}`, without events when the format shows none. */
export function transactionAnswer(call: Call, offset: number, format: UpdateFormat): string {
  const stored = storedAt(call, offset);
  if (stored.update === undefined || !('Transaction' in stored.update)) throw new Error('not a transaction');
  const { value } = stored.update.Transaction;
  const visible = new Renderer(call.participant).transaction(value, stored.archived, format.transactions);
  return JSON.stringify({ transaction: visible ?? { ...value, events: [] } });
}

/** `{"transactionTree":…}` of the deprecated endpoint. */
export function treeAnswer(call: Call, offset: number, readers: Readers): string {
  const includeTransactions = ownFormat(readers, 'TRANSACTION_SHAPE_LEDGER_EFFECTS');
  const format = parseUpdateFormat({ includeTransactions }, call.participant.ledger.model, call.participant.release);
  const transactionTree = treeOf(new Renderer(call.participant), storedAt(call, offset), format) ?? null;
  return JSON.stringify({ transactionTree });
}
