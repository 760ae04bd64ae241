/**
 * Translates offsets for a stream that was switched to another participant. Callers use offsets of the stream in all
 * requests and responses. This is the only module that translates offsets. A stream that never switched participants
 * does not use it.
 */
import { withContext, toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { ListOptions } from '../../ledger/api/answer.ts';
import { decodeCompletion } from '../../ledger/frames/decode-completion.ts';
import { decodeUpdate } from '../../ledger/frames/decode.ts';
import type { ParticipantRange } from '../../model/stream.ts';
import type { UnknownNames } from '../../model/unknown.ts';
import type { CompletionFrame, Update } from '../../model/update.ts';
import type { TextOrUtf8 } from '../../model/utf8.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { LedgerReads, OpenStream } from '../ports/source.ts';
import { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import { parseListedUpdate, type ListedUpdate } from './listed-update.ts';

type OffsetTranslation = Pick<PipelineParts, 'participantOffsets'>;

/**
 * The same parts with translated offsets. They are unchanged if the stream was never switched to another participant.
 */
export function withParticipantOffsets(parts: PipelineParts, range: ParticipantRange | undefined): PipelineParts {
  if (range === undefined) return parts;
  const participantOffsets = new ParticipantOffsets(range);
  return {
    ...parts,
    participantOffsets,
    ledger: { ...parts.ledger, ...translateRequests(parts.ledger, participantOffsets) },
    polledLedger: { state: stateOf(parts.polledLedger.state, participantOffsets) },
    openStream: translateStreams(parts.openStream, participantOffsets),
  };
}

/** The update of a frame, in offsets of the stream. */
export function updateOf(
  { participantOffsets }: OffsetTranslation,
  frame: TextOrUtf8,
  unknownNames?: UnknownNames,
): Update {
  if (participantOffsets === undefined) return decodeUpdate(frame, unknownNames);
  return participantOffsets.update(
    decodeWithTranslatedErrors(participantOffsets, () => decodeUpdate(frame, unknownNames)),
  );
}

/** The completion of a frame, in offsets of the stream. */
export function completionOf(
  { participantOffsets }: OffsetTranslation,
  frame: string,
  unknownNames: UnknownNames,
): CompletionFrame {
  if (participantOffsets === undefined) return decodeCompletion(frame, unknownNames);
  return participantOffsets.completion(
    decodeWithTranslatedErrors(participantOffsets, () => decodeCompletion(frame, unknownNames)),
  );
}

function decodeWithTranslatedErrors<T>(participantOffsets: ParticipantOffsets, decode: () => T): T {
  try {
    return decode();
  } catch (thrown) {
    throw translateError(thrown, participantOffsets);
  }
}

/**
 * Facts of errors that contain offsets: the offset of an update that could not be read, and the earliest offset that a
 * participant still has.
 */
const offsetFacts = ['offset', 'earliestOffset'] as const;

/** The error with its offsets translated to offsets of the stream. The message of the participant is unchanged. */
function translateError(thrown: unknown, participantOffsets: ParticipantOffsets): IndexerError {
  const error = toIndexerError(thrown);
  const facts: Record<string, number> = {};
  for (const name of offsetFacts) {
    const offset = error.facts[name];
    if (typeof offset === 'number') facts[name] = participantOffsets.toStreamOffset(offset);
  }
  return Object.keys(facts).length === 0 ? error : withContext(error, { facts });
}

function translateRequests(
  ledger: LedgerReads,
  participantOffsets: ParticipantOffsets,
): Pick<LedgerReads, 'state' | 'updates' | 'events'> {
  return {
    state: stateOf(ledger.state, participantOffsets),
    updates: {
      byOffset: (offset, format) => ledger.updates.byOffset(participantOffsets.toParticipantOffset(offset), format),
      list: (request, options) =>
        listUnstoredUpdates(ledger.updates, {
          request: toParticipantRequest(request, participantOffsets),
          options,
          participantOffsets,
        }),
    },
    events: {
      async byContractId(contractId, format) {
        const events = await ledger.events.byContractId(contractId, format);
        const created = events?.created;
        if (!created) return events;
        const { offset: participantOffset, ...event } = created.createdEvent;
        if (participantOffset === undefined) return events;
        const offset = participantOffsets.toStreamOffset(participantOffset);
        // If a contract was created before the switch, its offset at the participant differs from the stored offset, so
        // it is omitted.
        const knownOffset = participantOffsets.isStored(created.synchronizerId ?? '', offset) ? {} : { offset };
        return { ...events, created: { ...created, createdEvent: { ...event, ...knownOffset } } };
      },
    },
  };
}

function stateOf(state: LedgerReads['state'], participantOffsets: ParticipantOffsets): LedgerReads['state'] {
  return {
    ledgerEnd: async () => participantOffsets.toStreamOffset(await state.ledgerEnd()),
    latestPrunedOffsets: async () => Math.max(0, participantOffsets.toStreamOffset(await state.latestPrunedOffsets())),
    activeContracts: (request, options) =>
      state.activeContracts(toParticipantRequest(request, participantOffsets), options),
  };
}

/** Offset fields of all requests. */
const offsetFields = ['beginExclusive', 'endInclusive', 'activeAtOffset'] as const;

function toParticipantRequest<R extends object>(request: R, participantOffsets: ParticipantOffsets): R {
  const translatedRequest = { ...request } as Record<string, unknown>;
  for (const name of offsetFields) {
    const offset = translatedRequest[name];
    if (typeof offset === 'number') translatedRequest[name] = participantOffsets.toParticipantOffset(offset);
  }
  return translatedRequest as R;
}

interface ListCall {
  readonly request: Parameters<LedgerReads['updates']['list']>[0];
  readonly options: ListOptions | undefined;
  readonly participantOffsets: ParticipantOffsets;
}

/**
 * Leaves out updates that are already stored. If a list contains only such updates, the next list is requested, because
 * an empty list would mean that no updates are left.
 */
async function* listUnstoredUpdates(
  updates: LedgerReads['updates'],
  { request, options, participantOffsets }: ListCall,
): AsyncGenerator<string> {
  const { limit = Infinity } = options ?? {};
  let { beginExclusive } = request;
  for (let yieldedCount = 0; ;) {
    let listedCount = 0;
    for await (const text of updates.list({ ...request, beginExclusive }, options)) {
      listedCount += 1;
      const listedUpdate = parseListedUpdate(text);
      if (listedUpdate !== undefined) beginExclusive = listedUpdate.offset;
      const translatedEntry = listedUpdate === undefined ? text : translateEntry(listedUpdate, participantOffsets);
      if (translatedEntry === undefined) continue;
      yieldedCount += 1;
      yield translatedEntry;
    }
    if (listedCount < limit || yieldedCount >= limit) return;
  }
}

/** A list is used to find out which updates exist, not for their content, so only the offset is translated. */
function translateEntry(
  { kind, offset: participantOffset, value }: ListedUpdate,
  participantOffsets: ParticipantOffsets,
): string | undefined {
  const offset = participantOffsets.toStreamOffset(participantOffset);
  const { synchronizerId } = value;
  const isStored = participantOffsets.isStored(typeof synchronizerId === 'string' ? synchronizerId : '', offset);
  if (isStored && kind !== 'OffsetCheckpoint') return undefined;
  return JSON.stringify({ update: { [kind]: { value: { ...value, offset } } } });
}

/** Frames are not changed here, because their offsets are translated after they are decoded. */
function translateStreams(openStream: OpenStream, participantOffsets: ParticipantOffsets): OpenStream {
  return (stream) =>
    openStream({
      ...stream,
      request: toParticipantRequest(stream.request, participantOffsets),
      onEnd: (error) => stream.onEnd(error === undefined ? undefined : translateError(error, participantOffsets)),
    });
}
