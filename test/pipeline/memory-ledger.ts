/**
 * A ledger without a server. Its updates, active contracts and responses are in memory, and each test sets the behavior
 * of its streams.
 */
import { IndexerError } from '../../src/errors/indexer-error.ts';
import type { CodeWithRemedy } from '../../src/errors/catalogue.ts';
import type { CreatedEvent } from '../../src/ledger/api/update-types.ts';
import type { FrameStream } from '../../src/ledger/transport/frame-stream.ts';
import type { LedgerReads, OpenStream } from '../../src/pipeline/ports/source.ts';
import * as frames from '../support/frames.ts';

/** The name of a request in `LedgerReads`. */
export type LedgerRequest =
  | 'ledgerEnd'
  | 'latestPrunedOffsets'
  | 'activeContracts'
  | 'byOffset'
  | 'list'
  | 'byContractId'
  | 'participantId'
  | 'content';

interface Request {
  readonly beginExclusive?: number;
  readonly endInclusive?: number;
  readonly activeAtOffset?: number;
  readonly streamContinuationToken?: string;
  readonly includeIncompleteReassignments?: boolean;
}

/** An active contract, with the offset of its create. */
export interface ActiveEntry {
  readonly contractId: string;
  readonly offset: number;
}

/** The id of the update at an offset, unless a test sets another one. */
export function idAt(offset: number): string {
  return `1220${String(offset)}`;
}

export function topologyFrame(offset: number, updateId = idAt(offset)): string {
  const { recordTime, here: synchronizerId } = frames;
  return frames.text(
    frames.update('TopologyTransaction', {
      updateId,
      events: [],
      offset,
      synchronizerId,
      traceContext: null,
      recordTime,
    }),
  );
}

export function checkpointFrame(offset: number): string {
  return frames.text(frames.update('OffsetCheckpoint', { offset, synchronizerTimes: [] }));
}

export function failure(
  code: CodeWithRemedy,
  facts: Readonly<Record<string, string | number | boolean>> = {},
): IndexerError {
  return new IndexerError(`requested failure: ${code}`, { code, facts });
}

/** A stream that stays open until either side ends it. */
export class MemoryStream implements FrameStream {
  readonly path: string;
  readonly request: Request;
  readonly token: string | undefined;
  closed = false;
  readonly #to: Parameters<OpenStream>[0];

  constructor(to: Parameters<OpenStream>[0]) {
    this.#to = to;
    this.path = to.path;
    this.request = to.request;
    this.token = to.token;
  }

  send(...texts: readonly string[]): void {
    for (const text of texts) if (!this.closed) this.#to.onFrame(Buffer.from(text));
  }

  /** Ends the stream. Without an error, the stream ends as if the participant shut down. */
  end(error?: IndexerError): void {
    if (this.closed) return;
    this.closed = true;
    this.#to.onEnd(error);
  }

  pause(): void {
    // Sent frames arrive at once, even if the stream is paused.
  }

  resume(): void {
    // Has no effect, like `pause`.
  }

  close(): void {
    this.end(new IndexerError('closed here', { code: 'LEDGER_STREAM_CLOSED', facts: { closedBy: 'us' } }));
  }
}

export class MemoryLedger implements LedgerReads {
  /** Participant id; undefined if the user may not request it. */
  participant: string | undefined = 'p::1220';
  end = 0;
  pruned = 0;
  /** Frames by ascending offset. */
  readonly history = new Map<number, string>();
  readonly active: ActiveEntry[] = [];
  /** Whether entries carry continuation tokens. */
  tokens = true;
  readonly archives = new Map<string, Buffer>();
  /** Streams in the order in which they were opened. */
  readonly streams: MemoryStream[] = [];
  /**
   * Called before each response with the number of requests, including the current one. An error that it throws is the
   * response.
   */
  before: (request: LedgerRequest, count: number) => Promise<void> | void = () => undefined;
  /** The behavior of a stream after it was opened; by default, `serve`. */
  script: (stream: MemoryStream, count: number) => void = (stream) => this.serve(stream);
  /** Streams without an end offset, which receive updates as the ledger grows. */
  readonly #tailing: MemoryStream[] = [];
  readonly #counts = new Map<LedgerRequest, number>();

  readonly openStream: OpenStream = (to) => {
    const stream = new MemoryStream(to);
    const count = this.streams.push(stream);
    setImmediate(() => this.script(stream, count));
    return stream;
  };

  version = '3.5.10';

  readonly node: LedgerReads['node'] = { version: async () => ({ version: this.version }) };

  readonly state: LedgerReads['state'] = {
    ledgerEnd: async () => {
      await this.#asked('ledgerEnd');
      return this.end;
    },
    latestPrunedOffsets: async () => {
      await this.#asked('latestPrunedOffsets');
      return this.pruned;
    },
    activeContracts: (request, { limit } = {}) =>
      this.#answered('activeContracts', () => this.entriesAfter(request), limit),
  };

  readonly updates: LedgerReads['updates'] = {
    byOffset: async (offset) => {
      await this.#asked('byOffset');
      const frame = this.history.get(offset);
      return frame === undefined ? undefined : JSON.parse(frame);
    },
    list: (request, { limit } = {}) => this.#answered('list', () => this.updatesOf(request), limit),
  };

  readonly events: LedgerReads['events'] = {
    byContractId: async (contractId) => {
      await this.#asked('byContractId');
      const activeEntry = this.active.find((entry) => entry.contractId === contractId);
      const createdEvent = frames.created({ ...activeEntry }) as unknown as CreatedEvent;
      return activeEntry === undefined ? undefined : { created: { createdEvent } };
    },
  };

  readonly parties: LedgerReads['parties'] = {
    get: async (party) => ({ party }),
    list: async () => ({ partyDetails: [], nextPageToken: undefined }),
    participantId: async () => {
      await this.#asked('participantId');
      if (this.participant === undefined) throw failure('LEDGER_PERMISSION_DENIED');
      return this.participant;
    },
  };

  readonly packages: LedgerReads['packages'] = {
    content: async (packageId) => {
      await this.#asked('content');
      const bytes = this.archives.get(packageId);
      if (bytes === undefined) throw failure('LEDGER_UNAVAILABLE');
      return { bytes, hash: packageId };
    },
  };

  /** Adds updates at these offsets. The last offset becomes the ledger end. */
  grow(...offsets: readonly number[]): void {
    for (const offset of offsets) {
      this.history.set(offset, topologyFrame(offset));
      this.end = offset;
    }
    for (const stream of this.#tailing) stream.send(...offsets.map((offset) => this.history.get(offset) ?? ''));
  }

  /** Sends the requested frames. A list or a range ends after them, and a stream without an end offset stays open. */
  serve(stream: MemoryStream): void {
    const list = stream.path !== '/v2/updates';
    stream.send(...(list ? this.entriesAfter(stream.request) : this.updatesOf(stream.request)));
    if (list || stream.request.endInclusive !== undefined) stream.end();
    else this.#tailing.push(stream);
  }

  updatesOf({ beginExclusive = 0, endInclusive = Infinity }: Request): readonly string[] {
    return [...this.history].flatMap(([offset, frame]) =>
      offset > beginExclusive && offset <= endInclusive ? [frame] : [],
    );
  }

  /** The active contracts as frames, beginning after the entry of the token. */
  entriesAfter({ streamContinuationToken: token }: Request): readonly string[] {
    const from = token === undefined ? 0 : Number(Buffer.from(token, 'base64').toString()) + 1;
    return this.active.map((entry, index) => this.#entryFrame(entry, index)).slice(from);
  }

  /** The number of requests of a kind. */
  count(request: LedgerRequest): number {
    return this.#counts.get(request) ?? 0;
  }

  /** For each stream on the path, in the order of opening: the offset or the entry after which it began. */
  begins(path: '/v2/updates' | '/v2/state/active-contracts'): readonly (number | undefined)[] {
    return this.streams
      .filter((stream) => stream.path === path)
      .map(({ request: { beginExclusive, streamContinuationToken: token } }) =>
        token === undefined ? beginExclusive : Number(Buffer.from(token, 'base64').toString()),
      );
  }

  #entryFrame(entry: ActiveEntry, index: number): string {
    const token = this.tokens ? Buffer.from(String(index)).toString('base64') : '';
    return frames.text({ ...frames.activeEntry({ ...entry, acsDelta: true }), streamContinuationToken: token });
  }

  async #asked(request: LedgerRequest): Promise<void> {
    const count = this.count(request) + 1;
    this.#counts.set(request, count);
    await this.before(request, count);
  }

  async *#answered(
    request: LedgerRequest,
    texts: () => readonly string[],
    limit = Infinity,
  ): AsyncGenerator<string, void, undefined> {
    await this.#asked(request);
    yield* texts().slice(0, limit);
  }
}
