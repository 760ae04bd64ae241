/**
 * `GET /changes?template=…&party=…&event_type=…&after=PLACE`: changes as they are committed, as Server-Sent Events or, where the
 * client accepts `application/x-ndjson`, as lines of JSON. Place is an offset, or what `id:` says of an event.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { partyId, partyIdExpected } from '../../config/party-id.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import { behindNodes, formatCursor, parseCursor } from '../../model/push/changes.ts';
import type { TokenEnd } from '../../reader-token.ts';
import { refuse, refuseAsker } from './answers.ts';
import { noNotes, notesOf, type Notes, type UnseenName } from './changes-notes.ts';
import type { ChangeForm } from '../changes/change-pages.ts';
import { Places } from './places.ts';
import type { Unsent } from './unsent.ts';
import type { Begun, ChangeStream, StreamEnd, StreamWanted } from '../changes/change-stream.ts';

/** Whom a request comes from: as which role it reads, or why it is not answered. */
export type Reader =
  | {
      readonly role: string | null;
      /** Id of the token, or {@link thisMachine}. */
      readonly reader: string;
      /** Tells once when it may read no more; returns what ends the watch. Undefined: it always may. */
      readonly watch?: (told: (end: TokenEnd) => void) => () => void;
    }
  | { readonly refused: 401 | 403 | 503; readonly reason: string };

/** All who show no token: together they are one reader, whose places have no limit of their own. */
export const thisMachine = '';

export interface ChangesEndpoint {
  readonly stream: ChangeStream;
  /** What of the filter finds nothing that its role may see. @throws IndexerError STORE_ errors */
  readonly unseenIn: (wanted: StreamWanted) => Promise<readonly UnseenName[]>;
  readonly readerOf: (request: IncomingMessage) => Promise<Reader>;
  /** Streams that may be open at once. */
  readonly most: number;
}

/** A client that takes nothing for so long is cut off, milliseconds: it goes on where it was. */
const takesWithinMs = 30_000;
const known = ['template', 'party', 'event_type', 'after'] as const;
const longestValue = 1_000;
const whenFull = 'try again, or raise INDEXER_CHANGES_MAX_CLIENTS';

type Asker = Extract<Reader, { role: unknown }>;

interface Answered {
  readonly watch: Asker['watch'];
  readonly wanted: StreamWanted;
  /** Undefined where the database could not be asked yet. */
  readonly first: Begun | undefined;
  readonly notes: Notes;
}

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Open streams of one server, and how each is answered. */
export class ChangesAnswers {
  readonly #endpoint: ChangesEndpoint;
  readonly #asked = new Map<string, Promise<readonly UnseenName[]>>();
  readonly #places = new Places();
  #streaming = 0;

  constructor(endpoint: ChangesEndpoint) {
    this.#endpoint = endpoint;
  }

  /** Streams that may be open at once. */
  get most(): number {
    return this.#endpoint.most;
  }

  /** How many are sent changes now. */
  get streaming(): number {
    return this.#streaming;
  }

  /** Answers until the client leaves, or is cut off because it does not take what `unsent` has no room for. Never rejects. */
  async answer(query: string, request: IncomingMessage, response: ServerResponse, unsent: Unsent): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    // Who is not answered takes no place of those who are.
    const reader = await this.#endpoint.readerOf(request);
    if ('refused' in reader) return refuseAsker(response, reader.refused, reader.reason);
    const leave = this.#places.take(reader.reader);
    try {
      const begun = await this.#begin(query, request, reader);
      if ('status' in begun) refuse(response, begun.status, begun.error, begun.more);
      else await this.#run({ ...begun, watch: reader.watch }, request, response, { gone, unsent });
    } catch (thrown) {
      const { code, remedy } = toIndexerError(thrown);
      if (!response.headersSent) refuse(response, 503, 'changes cannot be read now', { code, remedy });
      // What was ended has its last words on the way.
      if (!response.writableEnded) response.destroy();
    } finally {
      leave();
    }
  }

  async #begin(
    query: string,
    request: IncomingMessage,
    { role, reader }: Pick<Asker, 'role' | 'reader'>,
  ): Promise<Refusal | Omit<Answered, 'watch'>> {
    const { stream } = this.#endpoint;
    const full = this.#noPlace(reader);
    if (full !== undefined) return full;
    const asked = parse(new URLSearchParams(query), request.headers['last-event-id']);
    if (typeof asked === 'string') return { status: 400, error: asked };
    const { template, party, eventTypes, after } = asked;
    const wanted = { template, party, eventTypes, after, role, reader };
    const begun = await stream.begin(wanted, formOf(request));
    const misfit = begun === undefined ? undefined : unfit(begun, asked.isResumed);
    if (misfit !== undefined) return misfit;
    const isNamed = template !== null || party !== null;
    if (begun === undefined) return { wanted, first: begun, notes: noNotes };
    return { wanted, first: begun, notes: notesOf(isNamed ? await this.#unseenIn(wanted) : [], begun) };
  }

  /** Why a stream that has taken a place may not keep it. */
  #noPlace(reader: string): Refusal | undefined {
    const { most } = this.#endpoint;
    if (this.#places.all > most) return { status: 503, error: `${String(most)} streams are open already: ${whenFull}` };
    const [others, free] = [this.#places.of(reader) - 1, most - this.#places.all + 1];
    if (reader === thisMachine || others <= free) return undefined;
    const error = `${String(others)} streams of this token are open, and no token may have more than there are places left (${String(free)})`;
    return { status: 429, error: `${error}: close some of them, or raise INDEXER_CHANGES_MAX_CLIENTS` };
  }

  /** Once for all of a reader who ask the same at the same time. None where it cannot be read: a note is no reason to refuse a stream. */
  #unseenIn(wanted: StreamWanted): Promise<readonly UnseenName[]> {
    const key = JSON.stringify([wanted.reader, wanted.role, wanted.template, wanted.party]);
    const running = this.#asked.get(key);
    if (running !== undefined) return running;
    const asked = this.#endpoint
      .unseenIn(wanted)
      .catch(() => [])
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, asked);
    return asked;
  }

  async #run(
    { wanted, first, notes, watch }: Answered,
    request: IncomingMessage,
    response: ServerResponse,
    { gone, unsent }: { readonly gone: AbortController; readonly unsent: Unsent },
  ): Promise<void> {
    const form = formOf(request);
    response.writeHead(200, {
      'content-type': form === 'sse' ? 'text/event-stream; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      ...notes.headers,
    });
    // A client that is cut off comes again within a second, instead of the three that browsers choose.
    const comments = notes.sentences.map((sentence) => `: ${sentence}\n`).join('');
    response.write(form === 'sse' ? `${comments}retry: 1000\n\n` : '\n');
    const send = (part: string | Buffer): Promise<void> => sent(response, part, unsent);
    const finish = (end: AnyEnd): void => {
      if (!response.writableEnded) response.end(form === 'sse' ? ending(end) : '');
    };
    const unwatch = watch?.((end) => {
      // What waits to be taken by a client that takes nothing would be taken after the end.
      if (response.writableNeedDrain) response.destroy();
      else finish(end);
      gone.abort();
    });
    this.#streaming += 1;
    try {
      const end = await this.#endpoint.stream.run(wanted, { form, send, gone: gone.signal }, first);
      if (end !== 'gone') finish(end);
    } finally {
      this.#streaming -= 1;
      unwatch?.();
    }
  }
}

/** Resolves when the socket takes more. */
function sent(response: ServerResponse, part: string | Buffer, unsent: Unsent): Promise<void> {
  if (response.destroyed || response.writableEnded) return Promise.reject(new Error('the client is gone'));
  if (response.write(part)) return Promise.resolve();
  unsent.hold(response);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done(new Error('the client takes nothing')), takesWithinMs);
    const onDrain = (): void => done();
    const onClose = (): void => done(new Error('the client is gone'));
    const done = (problem?: Error): void => {
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

type AnyEnd = StreamEnd | TokenEnd;

const meanings: Readonly<Record<AnyEnd, string>> = {
  expired: 'the token has expired',
  pruned: 'what comes next here was pruned before it was sent',
  revoked: 'the token is revoked, or its role is gone',
  reset: 'history here was taken back to before this place',
  stopping: 'the indexer is stopping: connect again',
};

function ending(end: AnyEnd): string {
  return `event: ${end === 'stopping' ? 'stopping' : 'end'}\ndata: ${JSON.stringify({ reason: end, message: meanings[end] })}\n\n`;
}

/**
 * Why nothing can be sent from there on. What an application has just written may not be here yet, so a place ahead is waited for;
 * but an id was sent, and history went on behind it.
 */
function unfit({ checkpoint, availableAfter, after }: Begun, isResumed: boolean): Refusal | undefined {
  if (availableAfter !== null && after.offset < availableAfter) {
    const error = `what follows ${formatCursor(after)} is not here: history is complete behind offset ${String(availableAfter)}`;
    return { status: 410, error, more: { available_after: availableAfter } };
  }
  if (isResumed && after.offset > (checkpoint ?? -1)) {
    const error = `history ends at offset ${String(checkpoint)} here, before the id ${formatCursor(after)}: it was taken back`;
    return { status: 409, error, more: { checkpoint } };
  }
  return undefined;
}

type Asked = Omit<StreamWanted, 'role' | 'reader'> & { readonly isResumed: boolean };

/** What is wanted, or what is wrong with it. The header is what a browser adds when it connects again: it goes first. */
function parse(query: URLSearchParams, lastEventId: string | string[] | undefined): Asked | string {
  for (const name of query.keys()) {
    if (!(known as readonly string[]).includes(name)) {
      return `there is no parameter "${name.slice(0, 40)}"; known: ${known.join(', ')}`;
    }
    if (name !== 'event_type' && query.getAll(name).length > 1) return `${name} is given more than once`;
    if (query.getAll(name).some((value) => value === '' || value.length > longestValue || value.includes('\0'))) {
      return `${name} must have 1 to ${String(longestValue)} characters`;
    }
  }
  const [template, party] = [query.get('template'), query.get('party')];
  // A short name never matches.
  if (template !== null && !/^[^:]+:[^:]+:[^:]+$/.test(template)) {
    return 'template must be package-name:Module:Entity, such as splice-amulet:Splice.Amulet:Amulet';
  }
  if (party !== null && !partyId.test(party)) return `party must be ${partyIdExpected}`;
  const isResumed = typeof lastEventId === 'string' && lastEventId !== '';
  const from = isResumed ? lastEventId : query.get('after');
  const after = from === null ? undefined : parseCursor(from);
  if (from !== null && after === undefined) {
    return `after, and Last-Event-ID, must be an offset or an id that was sent: 42 or 42-${String(behindNodes)}`;
  }
  return {
    template,
    party,
    eventTypes: query.getAll('event_type'),
    after,
    isResumed,
  };
}

function formOf({ headers }: IncomingMessage): ChangeForm {
  return (headers.accept ?? '').includes('application/x-ndjson') ? 'ndjson' : 'sse';
}
