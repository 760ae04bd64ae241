/**
 * `GET /changes?template=…&event=…&where=…&after=CURSOR`: sends changes as they are committed, and
 * `GET /changes?projection=NAME&after=CURSOR` the rows of a projection. The format is Server-Sent Events or, if the client
 * accepts `application/x-ndjson`, lines of JSON. The cursor is an offset or the `id:` of an event.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { unknownNameText, type UnknownName } from '../../config/selection/change-selection.ts';
import type { ErrorCode } from '../../errors/catalogue.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { formatCursor } from '../../model/push/changes.ts';
import { sendError, sendCallerError } from './answers.ts';
import { emptyNotes, streamNotesOf, type StreamNotes } from './changes-notes.ts';
import { parseChangesRequest } from './changes-request.ts';
import type { ChangeForm } from '../changes/change-pages.ts';
import { ClientSlots } from './client-slots.ts';
import { localReader, type AccessEnd, type Reader } from './readers.ts';
import type { UnsentBytes } from './unsent.ts';
import type { BegunStream, ChangeStream, StreamEnd, StreamRequest } from '../changes/change-stream.ts';

export interface ChangesEndpoint {
  readonly stream: ChangeStream;
  /** Names in the request that are unknown to its reader. @throws IndexerError with a STORE_ code */
  readonly unknownIn: (streamRequest: StreamRequest) => Promise<readonly UnknownName[]>;
  readonly readerOf: (request: IncomingMessage) => Promise<Reader>;
  /** Maximum number of open streams. */
  readonly most: number;
}

/** Milliseconds. A client that accepts no data for this long is disconnected. It may resume at its cursor. */
const sendTimeoutMs = 30_000;
const fullRemedy = 'try again, or raise INDEXER_CHANGES_MAX_CLIENTS';

type TokenReader = Extract<Reader, { role: unknown }>;

interface HandledRequest {
  readonly watch: TokenReader['watch'];
  readonly streamRequest: StreamRequest;
  /** Undefined if the database could not be read yet. */
  readonly first: BegunStream | undefined;
  readonly notes: StreamNotes;
}

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Serves `/changes` and counts its open streams. */
export class ChangesAnswers {
  readonly #endpoint: ChangesEndpoint;
  readonly #asked = new Map<string, Promise<readonly UnknownName[]>>();
  readonly #places = new ClientSlots();
  #streaming = 0;

  constructor(endpoint: ChangesEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Maximum number of open streams. */
  get most(): number {
    return this.#endpoint.most;
  }

  /** Number of open streams. */
  get streaming(): number {
    return this.#streaming;
  }

  /**
   * Streams changes until the client disconnects. The client is disconnected if its unread data exceeds the budget of
   * `unsent`. Never rejects.
   */
  async answer(
    query: string,
    request: IncomingMessage,
    response: ServerResponse,
    unsentBytes: UnsentBytes,
  ): Promise<void> {
    const closeController = new AbortController();
    response.once('close', () => closeController.abort());
    // A caller that is refused does not take a slot.
    const reader = await this.#endpoint.readerOf(request);
    if ('refused' in reader) return sendCallerError(response, reader.refused, reader.reason);
    const releaseSlot = this.#places.take(reader.reader);
    try {
      const handled = await this.#begin(query, request, reader);
      if ('status' in handled && handled.status === noContent) response.writeHead(noContent).end();
      else if ('status' in handled) sendError(response, handled.status, handled.error, handled.more);
      else
        await this.#run({ ...handled, watch: reader.watch }, request, response, {
          gone: closeController,
          unsent: unsentBytes,
        });
    } catch (thrown) {
      if (!response.headersSent) sendFailure(response, toIndexerError(thrown));
      // If the response was ended normally, its last event is still being sent.
      if (!response.writableEnded) response.destroy();
    } finally {
      releaseSlot();
    }
  }

  async #begin(
    query: string,
    request: IncomingMessage,
    { role, rights, reader }: Omit<TokenReader, 'watch'>,
  ): Promise<Refusal | Omit<HandledRequest, 'watch'>> {
    const { stream } = this.#endpoint;
    const fullRefusal = this.#noPlace(reader);
    if (fullRefusal !== undefined) return fullRefusal;
    const parsed = parseChangesRequest(new URLSearchParams(query), request.headers['last-event-id']);
    if (typeof parsed === 'string') return { status: 400, error: parsed };
    const { isResumed, mayBeUnknown, ...requested } = parsed;
    const streamRequest = { ...requested, role, rights, reader };
    const begunStream = await stream.begin(streamRequest, formatOf(request));
    if (begunStream === undefined) return { streamRequest, first: begunStream, notes: emptyNotes };
    const beginRefusal = cursorRefusal(begunStream, isResumed);
    if (beginRefusal !== undefined) return beginRefusal;
    const unknownNames = hasNames(streamRequest) ? await this.#unknownIn(streamRequest) : [];
    if (unknownNames.length > 0 && !mayBeUnknown) return nameRefusal(unknownNames);
    return { streamRequest, first: begunStream, notes: streamNotesOf(unknownNames, begunStream) };
  }

  /** The reason why a stream that has taken a slot must release it. Undefined if the stream may keep its slot. */
  #noPlace(reader: string): Refusal | undefined {
    const { most: maxClients } = this.#endpoint;
    if (this.#places.all > maxClients)
      return { status: 503, error: `${String(maxClients)} streams are open already: ${fullRemedy}` };
    const [otherCount, freeCount] = [this.#places.of(reader) - 1, maxClients - this.#places.all + 1];
    if (reader === localReader || otherCount <= freeCount) return undefined;
    const error = `${String(otherCount)} streams of this token are open, and a token may have at most as many as there are free slots (${String(freeCount)})`;
    return { status: 429, error: `${error}: close some of them, or raise INDEXER_CHANGES_MAX_CLIENTS` };
  }

  /**
   * Unknown names in a request. Identical concurrent requests of a reader share one read. The result is empty if the
   * read fails, because a stream should not be refused while the database cannot be read.
   */
  #unknownIn(streamRequest: StreamRequest): Promise<readonly UnknownName[]> {
    const { reader, role, rights, template, party, selection } = streamRequest;
    const key = JSON.stringify([reader, role, rights?.key, template, party, selection]);
    const pendingNames = this.#asked.get(key);
    if (pendingNames !== undefined) return pendingNames;
    const pending = this.#endpoint
      .unknownIn(streamRequest)
      .catch(() => [])
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, pending);
    return pending;
  }

  async #run(
    { streamRequest, first, notes, watch }: HandledRequest,
    request: IncomingMessage,
    response: ServerResponse,
    { gone: closeController, unsent: unsentBytes }: { readonly gone: AbortController; readonly unsent: UnsentBytes },
  ): Promise<void> {
    const format = formatOf(request);
    response.writeHead(200, {
      'content-type': format === 'sse' ? 'text/event-stream; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      ...notes.headers,
    });
    // After a disconnect, clients reconnect within a second. The default of browsers is three seconds.
    const comments = notes.sentences.map((noteText) => `: ${noteText}\n`).join('');
    response.write(format === 'sse' ? `${comments}retry: 1000\n\n` : '\n');
    const send = (chunk: string | Buffer): Promise<void> => sendChunk(response, chunk, unsentBytes);
    const endResponse = (end: StreamEndReason): void => {
      if (!response.writableEnded) response.end(format === 'sse' ? endEvent(end) : endLine(end));
    };
    const stopWatching = watch?.((end) => {
      // Without this, a client that accepts no data would receive its buffered data after the end of the stream.
      if (response.writableNeedDrain) response.destroy();
      else endResponse(end);
      closeController.abort();
    });
    this.#streaming += 1;
    try {
      const end = await this.#endpoint.stream.run(
        streamRequest,
        { form: format, send, gone: closeController.signal },
        first,
      );
      if (end !== 'gone') endResponse(end);
    } finally {
      this.#streaming -= 1;
      stopWatching?.();
    }
  }
}

/** Status of a request that cannot be answered because of what it selects. */
const selectionStatuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  FIELD_UNKNOWN: 400,
  FILTER_INVALID: 400,
  PROJECTION_NOT_FOUND: 404,
  PROJECTION_REFUSED: 403,
  PROJECTION_SELECT_FAILED: 503,
};

function sendFailure(response: ServerResponse, { code, message, remedy }: IndexerError): void {
  const status = selectionStatuses[code];
  sendError(response, status ?? 503, status === undefined ? 'changes cannot be read now' : message, { code, remedy });
}

/** Resolves when the socket accepts more data. */
function sendChunk(response: ServerResponse, chunk: string | Buffer, unsentBytes: UnsentBytes): Promise<void> {
  if (response.destroyed || response.writableEnded) return Promise.reject(new Error('the client has disconnected'));
  if (response.write(chunk)) return Promise.resolve();
  unsentBytes.hold(response);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(new Error('the client does not read')), sendTimeoutMs);
    const onDrain = (): void => settle();
    const onClose = (): void => settle(new Error('the client has disconnected'));
    const settle = (problem?: Error): void => {
      clearTimeout(timer);
      response.off('drain', onDrain);
      response.off('close', onClose);
      if (problem === undefined) resolve();
      else reject(problem);
    };
    response.once('drain', onDrain);
    response.once('close', onClose);
  });
}

type StreamEndReason = StreamEnd | AccessEnd;

const meanings: Readonly<Record<StreamEndReason, string>> = {
  complete: 'every change up to the requested end was sent',
  changed: 'the rights of this user on the participant have changed: reconnect',
  dropped: 'the projection was dropped',
  expired: 'the token has expired',
  failed: 'the SELECT of the projection fails: reconnect when it is corrected',
  invalid: 'the filter no longer fits the fields of the template or interface: correct it',
  pruned: 'the next changes were pruned before they were sent',
  refused: 'the projection was changed, and this reader may not read it any more',
  replaced: 'the projection has another SELECT: read its view again',
  revoked: 'the token was revoked, or its role was dropped',
  reset: 'history was rewound to before this position',
  stopping: 'the indexer is stopping: reconnect',
  unconfirmed: 'the rights of this user could not be read from the participant again: reconnect later',
};

function endEvent(end: StreamEndReason): string {
  return `event: ${end === 'stopping' ? 'stopping' : 'end'}\ndata: ${JSON.stringify({ reason: end, message: meanings[end] })}\n\n`;
}

/** Lines are changes, so only an end that the client requested has a line. */
function endLine(end: StreamEndReason): string {
  return end === 'complete' ? `${JSON.stringify({ end, message: meanings[end] })}\n` : '';
}

/** Browsers do not reconnect after this status. */
const noContent = 204;

function hasNames({ template, party, selection }: StreamRequest): boolean {
  const isSelective = selection !== undefined && (selection.interfaceName !== null || selection.choices.length > 0);
  return template !== null || party !== null || isSelective;
}

function nameRefusal(unknownNames: readonly UnknownName[]): Refusal {
  const error = unknownNames.map(unknownNameText).join('; ');
  const nearest = Object.fromEntries(unknownNames.map((unknown) => [unknown.parameter, unknown.nearest]));
  return { status: 400, error, more: { nearest, remedy: 'correct it, or add unseen=allow if it will exist later' } };
}

/**
 * The reason why a stream cannot begin at the cursor. If an offset is ahead of history, the stream waits, because the
 * update that an application has just written may not be stored yet. The id of an event, however, was sent before. If
 * the id is ahead of history, history was reset.
 */
function cursorRefusal(
  { checkpoint, availableAfter, after, isReplaced, isComplete }: BegunStream,
  isResumed: boolean,
): Refusal | undefined {
  if (availableAfter !== null && after.offset < availableAfter) {
    const error = `changes after ${formatCursor(after)} are not available: history is complete after offset ${String(availableAfter)}`;
    return { status: 410, error, more: { available_after: availableAfter } };
  }
  if (isResumed && after.offset > (checkpoint ?? -1)) {
    const error = `history ends at offset ${String(checkpoint)}, before the id ${formatCursor(after)}: it was rewound`;
    return { status: 409, error, more: { checkpoint } };
  }
  if (isReplaced) {
    const error = `the id ${formatCursor(after)} is of another SELECT than the projection has now: read its view, then begin at an offset`;
    return { status: 409, error, more: { checkpoint } };
  }
  return isResumed && isComplete ? { status: noContent, error: meanings.complete } : undefined;
}

function formatOf({ headers }: IncomingMessage): ChangeForm {
  return (headers.accept ?? '').includes('application/x-ndjson') ? 'ndjson' : 'sse';
}
