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
import type { Text } from '../../model/utf8.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { LedgerQuestions, OpenStream } from '../ports/source.ts';
import { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import { readListed, type Listed } from './listed-update.ts';

type ToRead = Pick<PipelineParts, 'participantOffsets'>;

/**
 * The same parts with translated offsets. They are unchanged if the stream was never switched to another participant.
 */
export function withParticipantOffsets(parts: PipelineParts, range: ParticipantRange | undefined): PipelineParts {
  if (range === undefined) return parts;
  const participantOffsets = new ParticipantOffsets(range);
  return {
    ...parts,
    participantOffsets,
    ledger: { ...parts.ledger, ...translated(parts.ledger, participantOffsets) },
    polledLedger: { state: stateOf(parts.polledLedger.state, participantOffsets) },
    openStream: translatedStreams(parts.openStream, participantOffsets),
  };
}

/** The update of a frame, in offsets of the stream. */
export function updateOf({ participantOffsets }: ToRead, frame: Text, unknown?: UnknownNames): Update {
  if (participantOffsets === undefined) return decodeUpdate(frame, unknown);
  return participantOffsets.update(decodeWithTranslatedErrors(participantOffsets, () => decodeUpdate(frame, unknown)));
}

/** The completion of a frame, in offsets of the stream. */
export function completionOf({ participantOffsets }: ToRead, frame: string, unknown: UnknownNames): CompletionFrame {
  if (participantOffsets === undefined) return decodeCompletion(frame, unknown);
  return participantOffsets.completion(
    decodeWithTranslatedErrors(participantOffsets, () => decodeCompletion(frame, unknown)),
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

function translated(
  ledger: LedgerQuestions,
  participantOffsets: ParticipantOffsets,
): Pick<LedgerQuestions, 'state' | 'updates' | 'events'> {
  return {
    state: stateOf(ledger.state, participantOffsets),
    updates: {
      byOffset: (offset, format) => ledger.updates.byOffset(participantOffsets.toParticipantOffset(offset), format),
      list: (request, options) =>
        listUnstored(ledger.updates, {
          request: theirRequest(request, participantOffsets),
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
        const known = participantOffsets.isStored(created.synchronizerId ?? '', offset) ? {} : { offset };
        return { ...events, created: { ...created, createdEvent: { ...event, ...known } } };
      },
    },
  };
}

function stateOf(state: LedgerQuestions['state'], participantOffsets: ParticipantOffsets): LedgerQuestions['state'] {
  return {
    ledgerEnd: async () => participantOffsets.toStreamOffset(await state.ledgerEnd()),
    latestPrunedOffsets: async () => Math.max(0, participantOffsets.toStreamOffset(await state.latestPrunedOffsets())),
    activeContracts: (request, options) => state.activeContracts(theirRequest(request, participantOffsets), options),
  };
}

/** Offset fields of all requests. */
const offsetFields = ['beginExclusive', 'endInclusive', 'activeAtOffset'] as const;

function theirRequest<R extends object>(request: R, participantOffsets: ParticipantOffsets): R {
  const changed = { ...request } as Record<string, unknown>;
  for (const name of offsetFields) {
    const offset = changed[name];
    if (typeof offset === 'number') changed[name] = participantOffsets.toParticipantOffset(offset);
  }
  return changed as R;
}

interface ListCall {
  readonly request: Parameters<LedgerQuestions['updates']['list']>[0];
  readonly options: ListOptions | undefined;
  readonly participantOffsets: ParticipantOffsets;
}

/**
 * Leaves out updates that are already stored. If a list contains only such updates, the next list is requested, because
 * an empty list would mean that no updates are left.
 */
async function* listUnstored(
  updates: LedgerQuestions['updates'],
  { request, options, participantOffsets }: ListCall,
): AsyncGenerator<string> {
  const { limit = Infinity } = options ?? {};
  let { beginExclusive } = request;
  for (let yielded = 0; ;) {
    let listed = 0;
    for await (const text of updates.list({ ...request, beginExclusive }, options)) {
      listed += 1;
      const one = readListed(text);
      if (one !== undefined) beginExclusive = one.offset;
      const translatedText = one === undefined ? text : inOffsetsOf(one, participantOffsets);
      if (translatedText === undefined) continue;
      yielded += 1;
      yield translatedText;
    }
    if (listed < limit || yielded >= limit) return;
  }
}

/** A list is used to find out which updates exist, not for their content, so only the offset is translated. */
function inOffsetsOf(
  { kind, offset: participantOffset, value }: Listed,
  participantOffsets: ParticipantOffsets,
): string | undefined {
  const offset = participantOffsets.toStreamOffset(participantOffset);
  const { synchronizerId } = value;
  const isStored = participantOffsets.isStored(typeof synchronizerId === 'string' ? synchronizerId : '', offset);
  if (isStored && kind !== 'OffsetCheckpoint') return undefined;
  return JSON.stringify({ update: { [kind]: { value: { ...value, offset } } } });
}

/** Frames are not changed here, because their offsets are translated after they are decoded. */
function translatedStreams(openStream: OpenStream, participantOffsets: ParticipantOffsets): OpenStream {
  return (stream) =>
    openStream({
      ...stream,
      request: theirRequest(stream.request, participantOffsets),
      onEnd: (error) => stream.onEnd(error === undefined ? undefined : translateError(error, participantOffsets)),
    });
}
