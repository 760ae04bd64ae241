/** Command submission: wait for the update, wait for the transaction, or do not wait. */
import { parseSubmission } from '../commands.ts';
import type { Submission } from '../commands.ts';
import { require } from '../caller.ts';
import type { Call, Endpoint } from '../endpoint.ts';
import { parseUpdateFormat } from '../format.ts';
import { asObject } from '../json.ts';
import type { Json } from '../json.ts';
import { Renderer } from '../render.ts';
import type { Transaction } from '../wire.ts';

/** Reads, authorizes and runs `JsCommands`. */
function submit({ participant, caller }: Call, commands: Json | undefined): [Submission, Transaction] {
  const submission = parseSubmission(asObject(commands) ?? {});
  require(caller, [
    ...submission.actAs.map((actAs) => ({ actAs })),
    ...(submission.readAs ?? []).map((readAs) => ({ readAs })),
  ]);
  return [submission, participant.ledger.submitJournaled(submission)];
}

function submitAndWait(call: Call): string {
  const [, { updateId, offset }] = submit(call, call.body);
  return JSON.stringify({ updateId, completionOffset: offset });
}

function submitForTransaction(call: Call): string {
  const { ledger } = call.participant;
  const [submission, submitted] = submit(call, call.body['commands']);
  const asked = asObject(call.body['transactionFormat']);
  const filtersByParty = Object.fromEntries(
    [...submission.actAs, ...(submission.readAs ?? [])].map((party) => [party, {}]),
  );
  const transactionShape = 'TRANSACTION_SHAPE_ACS_DELTA';
  const includeTransactions = asked ?? { eventFormat: { filtersByParty }, transactionShape };
  const { transactions } = parseUpdateFormat({ includeTransactions }, ledger.model);
  const [stored] = ledger.range(submitted.offset - 1, submitted.offset, 1);
  const visible = new Renderer(ledger.model).transaction(submitted, stored?.archived, transactions);
  const transaction: Transaction = visible ?? { ...submitted, events: [] };
  return JSON.stringify({ transaction });
}

export const commandEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/commands/submit-and-wait',
    summary: 'Submit commands and wait for their update id',
    request: 'JsCommands',
    response: 'SubmitAndWaitResponse',
    run: submitAndWait,
  },
  {
    method: 'POST',
    path: '/v2/commands/submit-and-wait-for-transaction',
    summary: 'Submit commands and wait for their transaction',
    request: 'JsSubmitAndWaitForTransactionRequest',
    response: 'JsSubmitAndWaitForTransactionResponse',
    run: submitForTransaction,
  },
  {
    method: 'POST',
    path: '/v2/commands/async/submit',
    summary: 'Submit commands without waiting',
    request: 'JsCommands',
    response: 'SubmitResponse',
    run: (call) => {
      submit(call, call.body);
      return '{}';
    },
  },
];
