/** Injected bugs. Each replaces one line of the compiled program, with a mistake that an indexer could really make. */

export interface Mutant {
  readonly name: string;
  /** Path below the folder of the compiled program. */
  readonly file: string;
  /** The line to replace, which must occur exactly once. */
  readonly line: string;
  readonly instead: string;
  /** Part of the name of the fault that reveals the bug; absent if any fault may reveal it. */
  readonly fault?: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: 'the checkpoint is committed before the rows',
    file: 'store/write/batch-writer.js',
    line: 'await runInTransaction(client, [advance, ...copyStatements, ...rest]);',
    instead: 'await runInTransaction(client, [advance]), await runInTransaction(client, [...copyStatements, ...rest]);',
  },
  {
    name: 'the checkpoint is committed after the rows',
    file: 'store/write/batch-writer.js',
    line: 'await runInTransaction(client, [advance, ...copyStatements, ...rest]);',
    instead: 'await runInTransaction(client, [...copyStatements, ...rest]), await runInTransaction(client, [advance]);',
  },
  {
    name: 'lifetimes and counts are committed after the rows',
    file: 'store/write/batch-writer.js',
    line: 'await runInTransaction(client, [advance, ...copyStatements, ...rest]);',
    instead: 'await runInTransaction(client, [advance, ...copyStatements]), await runInTransaction(client, rest);',
  },
  {
    name: 'a write that fails is taken for one that succeeded',
    file: 'pipeline/follow/write-queue.js',
    line: 'const pendingWrite = write(this.#underWay.at(-1));',
    instead: 'const pendingWrite = write(this.#underWay.at(-1)).catch(() => undefined);',
  },
  {
    name: 'a session continues from the checkpoint of the last one in memory',
    file: 'pipeline/run.js',
    line: 'return this.#follow$(connected, session.state.checkpoint);',
    instead:
      'return this.#follow$(connected, (globalThis.remembered = (globalThis.remembered ?? session.state.checkpoint) + 1) - 1);',
  },
  {
    name: 'the stream begins one offset after the checkpoint',
    file: 'ledger/api/request-format.js',
    line: 'const request = { beginExclusive, updateFormat: updateFormat(filter) };',
    instead: 'const request = { beginExclusive: beginExclusive + 1, updateFormat: updateFormat(filter) };',
  },
  {
    name: 'the last frame of a batch is lost',
    file: 'pipeline/intake/batch-builder.js',
    line: 'of frames.entries()) {',
    instead: 'of frames.slice(0, Math.max(1, frames.length - 1)).entries()) {',
  },
  {
    name: 'an OffsetCheckpoint drops the update that identifies the history',
    file: 'store/write/stream-row.js',
    line: 'checkpoint_update_offset = coalesce($4, checkpoint_update_offset),',
    instead: 'checkpoint_update_offset = $4,',
  },
  {
    name: 'ends of contracts of earlier batches are not counted',
    file: 'store/write/batch-writer.js',
    line: 'union all select template_pk, 0, 1 from gone) c',
    instead: ') c',
  },
  {
    name: 'an OffsetCheckpoint moves the checkpoint too far',
    file: 'model/batch.js',
    line: 'this.offset = Math.max(this.offset, update.offset);',
    instead: "this.offset = Math.max(this.offset, update.offset + (update.kind === 'offset_checkpoint' ? 1 : 0));",
  },
  {
    name: 'a clean close counts as the end of the active contracts',
    file: 'pipeline/proof/list-proof.js',
    line: 'if (offset === 0)',
    instead: 'if (offset >= 0)',
  },
  {
    name: 'an entry after the last one of a list is neither read nor reported as missing',
    file: 'pipeline/proof/list-proof.js',
    line: 'return (await hasEntriesAfter(list, listTally.token, listReads)) ? truncatedError(list) : undefined;',
    instead: 'return (await hasEntriesAfter(list, listTally.token, listReads)) ? undefined : undefined;',
  },
  {
    name: 'two readings of a list without tokens need not agree',
    file: 'pipeline/proof/list-proof.js',
    line: 'return secondTally.equals(listTally) ? undefined : differenceError(list, secondTally);',
    instead: 'return undefined;',
  },
  {
    name: 'a reseed skips offsets that could be followed',
    file: 'pipeline/reseed.js',
    line: 'return earliest > refusedOffset ? earliest : parts.ledger.state.ledgerEnd();',
    instead: 'return parts.ledger.state.ledgerEnd();',
  },
  {
    name: 'a reseed ends contracts that the ledger still has',
    file: 'store/history/merge.js',
    line: 'where not exists (select from ${stagingName}.states s where ${sameContractSql} and s.ended_offset is null)',
    instead: 'where true',
  },
  {
    name: 'a restarted seed keeps the rows of the last one',
    file: 'store/write/stream-row.js',
    line: "const { rows } = await client.query('select clear_unfinished_seed($1) as cleared', [epoch]);",
    instead: 'const rows = [{ cleared: true }];',
  },
  {
    name: 'the seed resumes one entry after its token',
    file: 'pipeline/seed.js',
    line: 'return { offset: seedOffset, token: seedToken, written: seedContracts };',
    instead:
      'return { offset: seedOffset, token: Buffer.from(String(1 + Number(Buffer.from(seedToken, "base64").toString()))).toString("base64"), written: seedContracts };',
  },
  {
    name: 'the active contracts are read one offset before the stream begins',
    file: 'pipeline/seed.js',
    line: 'return activeContractsRequest(seed.offset, parts.filter, parts.release, seed.token);',
    instead: 'return activeContractsRequest(seed.offset - 1, parts.filter, parts.release, seed.token);',
  },
  {
    name: 'reassignments in flight are not requested',
    file: 'ledger/api/request-format.js',
    line: '...(isReleaseSince(release, inFlightOmittedSince) ? { includeIncompleteReassignments: true } : {}),',
    instead: '',
  },
  {
    name: 'contracts of earlier batches never end',
    file: 'model/lifetimes.js',
    line: 'this.#firstEnds.set(contract, end);',
    instead: ';',
  },
  {
    name: 'a contract that begins and ends in one batch stays active',
    file: 'model/lifetimes.js',
    line: 'this.#activations.ends.set(openIndex - 1, end);',
    instead: '',
  },
  {
    name: 'assigned contracts are not active',
    file: 'model/batch.js',
    line: 'this.#created(update.offset, event.created, activation, true);',
    instead: 'this.#created(update.offset, event.created, activation, false);',
  },
  {
    name: 'unassigned contracts stay active',
    file: 'model/batch.js',
    line: "this.lifetimes.deactivate(event.contractId, sourcePk, { offset, nodeId: null, by: 'reassignment', at: endTime });",
    instead: '',
  },
  {
    name: 'a contract that the seed finds in flight counts as active where it left',
    file: 'model/batch.js',
    line: 'this.#unassigned(entry.unassigned.offset, entry.unassigned, true, null);',
    instead: ';',
  },
  {
    name: 'an error frame is ignored',
    file: 'ledger/transport/frame-stream.js',
    line: 'return isErrorFrame(parsed) ? errorFromBody(parsed) : undefined;',
    instead: 'return undefined;',
  },
  {
    name: 'costs of a batch replace those before',
    file: 'store/write/batch-writer.js',
    line: 'paid_traffic_cost = least(a.paid_traffic_cost::numeric + excluded.paid_traffic_cost,',
    instead: 'paid_traffic_cost = least(excluded.paid_traffic_cost,',
  },
  {
    name: 'frames in the buffer survive their stream',
    file: 'pipeline/intake/inbox.js',
    line: 'end(error) {',
    instead: 'end(error) { return;',
  },
  {
    name: 'new dictionary entries are written again after a failure',
    file: 'model/dictionary.js',
    line: 'takeAdded() {',
    instead:
      'takeAdded() { if (globalThis.once !== this) { globalThis.once = this; return { templates: [], choices: [], synchronizers: [], implementations: [] }; }',
  },
  {
    name: 'the hour of a batch is counted again when the batch is written again',
    file: 'store/write/batch-writer.js',
    line: 'set creates = a.creates + excluded.creates, archives = a.archives + excluded.archives,',
    instead: 'set creates = excluded.creates, archives = excluded.archives,',
  },
  // Bugs that make every run store the same wrong values.
  {
    name: 'signatories and observers are swapped',
    file: 'ledger/frames/decode-event.js',
    line: "observers: textsAt(event, 'observers', path),",
    instead: "...{ signatories: textsAt(event, 'observers', path), observers: textsAt(event, 'signatories', path) },",
  },
  {
    name: 'the record time of a transaction is its effective time',
    file: 'model/rows.js',
    line: 'updateTimes.recorded ?? update.recordTime,',
    instead: 'updateTimes.effective ?? updateTimes.recorded ?? update.recordTime,',
  },
  {
    name: 'every exercise of a transaction has the argument of the first one',
    file: 'model/batch.js',
    line: 'jsonb(event.argument),',
    instead: "jsonb((update.events.find(({ kind }) => kind === 'exercised') ?? event).argument),",
  },
  {
    name: 'the result of a choice is its argument',
    file: 'ledger/frames/decode-event.js',
    line: "result: payloadOf(event['exerciseResult']),",
    instead: "result: payloadOf(event['choiceArgument']),",
  },
  {
    name: 'informees of an exercise count as acting parties',
    file: 'ledger/frames/decode-event.js',
    line: "actingParties: textsAt(event, 'actingParties', path),",
    instead: "actingParties: textsAt(event, 'witnessParties', path),",
  },
  {
    name: 'an assigned contract has the reassignment counter from before it left',
    file: 'model/batch.js',
    line: "origin: 'assign', synchronizerPk, reassignmentCounter, workflowId: null }",
    instead: "origin: 'assign', synchronizerPk, reassignmentCounter: reassignmentCounter - 1, workflowId: null }",
  },
  {
    name: 'a view that failed counts as computed',
    file: 'ledger/frames/decode-event.js',
    line: "statusCode: integerAt(status, 'code', `${path}.viewStatus`) ?? 0,",
    instead: 'statusCode: 0,',
  },
  {
    name: 'contracts with a key have it as their payload',
    file: 'ledger/frames/decode-event.js',
    line: "payload: payloadOf(event['createArgument']),",
    instead: "payload: payloadOf(event['contractKey']) ?? payloadOf(event['createArgument']),",
  },
  // Bugs in the probes of an idle stream.
  {
    name: 'the checkpoint moves to the ledger end without a probe',
    file: 'pipeline/proof/idle-probe.js',
    line: "probeAnswer = (await this.#isEmpty(checkpoint, ledgerEnd)) ? 'empty' : 'undelivered';",
    instead: "probeAnswer = 'empty';",
  },
  {
    name: 'one clean close before any update is taken for an empty range',
    file: 'pipeline/proof/idle-probe.js',
    line: 'return isRangeEmpty(this.#parts, checkpoint, ledgerEnd);',
    instead: 'return true;',
    fault: 'silent, then closed',
  },
  {
    name: 'one empty list is taken for an empty range',
    file: 'pipeline/proof/idle-probe.js',
    line: 'if (await canSeeUpdate(this.#parts, checkpoint, ledgerEnd, this.#signal))',
    instead: 'if (false)',
    fault: 'silent, then closed',
  },
  {
    name: 'a range is passed although a frame came since it was requested',
    file: 'pipeline/proof/idle-probe.js',
    line: 'return frames.lastFrameAt() === lastHeardMs && followState.checkpoint === checkpoint && this.#isIdle;',
    instead: 'return true;',
    fault: 'silent, then closed',
  },
];
