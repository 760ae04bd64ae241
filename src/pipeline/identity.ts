/**
 * Connecting: is this still the ledger we indexed? Participant, filter and the update id at the checkpoint are proven
 * before anything is appended; offsets alone prove nothing, because a restored participant uses them again. A
 * participant that tells its id to administrators only is proven by the update id alone.
 */
import { ExitCode, IndexerError } from '../errors.ts';
import type { LedgerClient } from '../ledger/client.ts';
import { filterFingerprint, updateFormat } from '../ledger/request-format.ts';
import { isObject } from '../ledger/field.ts';
import { openSession, type StoreSession } from '../store/store.ts';
import type { PipelineParts } from './parts.ts';

export interface Connected {
  readonly session: StoreSession;
  readonly ledgerEnd: number;
  readonly pruned: number;
}

export async function connect(parts: PipelineParts): Promise<Connected> {
  const { ledger, database, filter } = parts;
  const participantId = await readableParticipantId(ledger);
  const ledgerEnd = await ledger.state.ledgerEnd();
  const pruned = await ledger.state.latestPrunedOffsets();
  const { json, hash } = filterFingerprint(filter);
  const identity = { participantId, filter: json, filterHash: hash, shape: filter.shape };
  const session = await openSession(database, identity, { notify: parts.notify });
  parts.observer.ledgerPolled(ledgerEnd, pruned);
  await proveHistory(parts, session, ledgerEnd, pruned);
  // Not before: a participant without a proven history must not give its name to ours.
  if (participantId !== undefined) await session.noteParticipant(participantId);
  parts.observer.sessionOpened(participantId, session.state.checkpoint);
  return { session, ledgerEnd, pruned };
}

/** Undefined when this user may not ask for it, which the right to read does not include on every participant. */
async function readableParticipantId(ledger: LedgerClient): Promise<string | undefined> {
  try {
    return await ledger.parties.participantId();
  } catch (thrown) {
    if (thrown instanceof IndexerError && thrown.code === 'LEDGER_PERMISSION_DENIED') return undefined;
    throw thrown;
  }
}

async function proveHistory(
  parts: PipelineParts,
  { state }: StoreSession,
  ledgerEnd: number,
  pruned: number,
): Promise<void> {
  if (state.checkpoint === null) return;
  if (state.checkpoint > ledgerEnd) throw behind(state.checkpoint, ledgerEnd);
  if (pruned > state.checkpoint) throw prunedPast(state.checkpoint, pruned);
  // What is pruned cannot be shown again; the participant id, where it is known, has to be enough then.
  if (state.lastUpdate === undefined || state.lastUpdate.offset <= pruned) return;
  const { offset, updateId } = state.lastUpdate;
  const found = await updateIdAt(parts, offset);
  if (found === updateId) return;
  throw new IndexerError(
    `the ledger has ${found === undefined ? 'no update' : 'another update'} at offset ${String(offset)}, where we stored one`,
    {
      code: 'HISTORY_CHANGED',
      retry: 'park',
      exitCode: ExitCode.configuration,
      remedy:
        'the participant was restored or reset: index it into a new POSTGRES_SCHEMA, keep this one for comparison',
      facts: { offset },
    },
  );
}

/** The id of the update at an offset; undefined when there is none that the filter shows. */
export async function updateIdAt({ ledger, filter }: PipelineParts, offset: number): Promise<string | undefined> {
  return updateIdOf(await ledger.updates.byOffset(offset, updateFormat(filter)));
}

function updateIdOf(answer: unknown): string | undefined {
  const update = isObject(answer) && isObject(answer['update']) ? Object.values(answer['update'])[0] : undefined;
  const value = isObject(update) ? update['value'] : undefined;
  const updateId = isObject(value) ? value['updateId'] : undefined;
  return typeof updateId === 'string' ? updateId : undefined;
}

function behind(checkpoint: number, ledgerEnd: number): IndexerError {
  return new IndexerError(
    `the ledger ends at offset ${String(ledgerEnd)}, our checkpoint is already ${String(checkpoint)}`,
    {
      code: 'LEDGER_BEHIND_CHECKPOINT',
      retry: 'park',
      remedy: 'a lagging replica catches up by itself; a reset participant needs a new POSTGRES_SCHEMA',
      facts: { checkpoint, ledgerEnd },
    },
  );
}

function prunedPast(checkpoint: number, pruned: number): IndexerError {
  return new IndexerError(
    `the participant is pruned up to offset ${String(pruned)}, past our checkpoint ${String(checkpoint)}`,
    {
      code: 'LEDGER_PRUNED',
      retry: 'park',
      remedy: 'updates in between are gone from this participant: seed again into a new POSTGRES_SCHEMA',
      facts: { checkpoint, pruned },
    },
  );
}
