/**
 * The ledger as a stream sees it that was moved to another participant: questions are asked and answers given in offsets of
 * the stream. This is the one place where they are translated, and a stream that was never moved does not come here.
 */
import { retold, toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { ListOptions } from '../../ledger/api/answer.ts';
import { decodeCompletion } from '../../ledger/frames/decode-completion.ts';
import { decodeUpdate } from '../../ledger/frames/decode.ts';
import type { HostStretch } from '../../model/stream.ts';
import type { UnknownNames } from '../../model/unknown.ts';
import type { CompletionFrame, Update } from '../../model/update.ts';
import type { Text } from '../../model/utf8.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { LedgerQuestions, OpenStream } from '../ports/source.ts';
import { HostOffsets } from '../../ledger/frames/host-offsets.ts';
import { readListed, type Listed } from './listed-update.ts';

type ToRead = Pick<PipelineParts, 'host'>;

/** The parts for a stream that was moved; the same ones for one that was not. */
export function onHost(parts: PipelineParts, stretch: HostStretch | undefined): PipelineParts {
  if (stretch === undefined) return parts;
  const host = new HostOffsets(stretch);
  return {
    ...parts,
    host,
    ledger: { ...parts.ledger, ...translated(parts.ledger, host) },
    polledLedger: { state: stateOf(parts.polledLedger.state, host) },
    openStream: translatedStreams(parts.openStream, host),
  };
}

/** The update of a frame, in offsets of the stream. */
export function updateOf({ host }: ToRead, frame: Text, unknown?: UnknownNames): Update {
  if (host === undefined) return decodeUpdate(frame, unknown);
  return host.update(told(host, () => decodeUpdate(frame, unknown)));
}

/** The completion of a frame, in offsets of the stream. */
export function completionOf({ host }: ToRead, frame: string, unknown: UnknownNames): CompletionFrame {
  if (host === undefined) return decodeCompletion(frame, unknown);
  return host.completion(told(host, () => decodeCompletion(frame, unknown)));
}

function told<T>(host: HostOffsets, decode: () => T): T {
  try {
    return decode();
  } catch (thrown) {
    throw inOurs(thrown, host);
  }
}

/** The offset that an update could not be read at, and where a participant says that its history begins. */
const offsetFacts = ['offset', 'earliestOffset'] as const;

/** What failed, with facts in offsets of the stream; the words of the participant stay its own. */
function inOurs(thrown: unknown, host: HostOffsets): IndexerError {
  const error = toIndexerError(thrown);
  const facts: Record<string, number> = {};
  for (const name of offsetFacts) {
    const offset = error.facts[name];
    if (typeof offset === 'number') facts[name] = host.ours(offset);
  }
  return Object.keys(facts).length === 0 ? error : retold(error, { facts });
}

function translated(ledger: LedgerQuestions, host: HostOffsets): Pick<LedgerQuestions, 'state' | 'updates' | 'events'> {
  return {
    state: stateOf(ledger.state, host),
    updates: {
      byOffset: (offset, format) => ledger.updates.byOffset(host.theirs(offset), format),
      list: (request, options) => shown(ledger.updates, { request: theirRequest(request, host), options, host }),
    },
    events: {
      async byContractId(contractId, format) {
        const events = await ledger.events.byContractId(contractId, format);
        const created = events?.created;
        if (!created) return events;
        const { offset: theirs, ...event } = created.createdEvent;
        if (theirs === undefined) return events;
        const offset = host.ours(theirs);
        // What it says of the time before the move is not what is stored here.
        const known = host.isStored(created.synchronizerId ?? '', offset) ? {} : { offset };
        return { ...events, created: { ...created, createdEvent: { ...event, ...known } } };
      },
    },
  };
}

function stateOf(state: LedgerQuestions['state'], host: HostOffsets): LedgerQuestions['state'] {
  return {
    ledgerEnd: async () => host.ours(await state.ledgerEnd()),
    latestPrunedOffsets: async () => Math.max(0, host.ours(await state.latestPrunedOffsets())),
    activeContracts: (request, options) => state.activeContracts(theirRequest(request, host), options),
  };
}

/** Offsets of a request, whatever it asks for. */
const asked = ['beginExclusive', 'endInclusive', 'activeAtOffset'] as const;

function theirRequest<R extends object>(request: R, host: HostOffsets): R {
  const changed = { ...request } as Record<string, unknown>;
  for (const name of asked) {
    const offset = changed[name];
    if (typeof offset === 'number') changed[name] = host.theirs(offset);
  }
  return changed as R;
}

interface ListCall {
  readonly request: Parameters<LedgerQuestions['updates']['list']>[0];
  readonly options: ListOptions | undefined;
  readonly host: HostOffsets;
}

/**
 * Updates that are stored already are not there: behind a list that is full of them the next one is asked for, because an
 * empty one says that nothing is left.
 */
async function* shown(
  updates: LedgerQuestions['updates'],
  { request, options, host }: ListCall,
): AsyncGenerator<string> {
  const { limit = Infinity } = options ?? {};
  let { beginExclusive } = request;
  for (let yielded = 0; ;) {
    let listed = 0;
    for await (const text of updates.list({ ...request, beginExclusive }, options)) {
      listed += 1;
      const one = readListed(text);
      if (one !== undefined) beginExclusive = one.offset;
      const ours = one === undefined ? text : inOffsetsOf(one, host);
      if (ours === undefined) continue;
      yielded += 1;
      yield ours;
    }
    if (listed < limit || yielded >= limit) return;
  }
}

/** A list is asked for what there is, not for what it says: the offset is all of it that is translated. */
function inOffsetsOf({ kind, offset: theirs, value }: Listed, host: HostOffsets): string | undefined {
  const offset = host.ours(theirs);
  const { synchronizerId } = value;
  const isStored = host.isStored(typeof synchronizerId === 'string' ? synchronizerId : '', offset);
  if (isStored && kind !== 'OffsetCheckpoint') return undefined;
  return JSON.stringify({ update: { [kind]: { value: { ...value, offset } } } });
}

/** Frames stay as they came: what they say is translated once they are decoded. */
function translatedStreams(openStream: OpenStream, host: HostOffsets): OpenStream {
  return (stream) =>
    openStream({
      ...stream,
      request: theirRequest(stream.request, host),
      onEnd: (error) => stream.onEnd(error === undefined ? undefined : inOurs(error, host)),
    });
}
