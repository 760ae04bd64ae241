/**
 * Streams of the participant for verbs. Frames are pulled in batches, so that memory is bounded and no frame is
 * dropped.
 */
import { IndexerError } from '../../errors/indexer-error.ts';
import { openFrameStream, type FrameStream, type StreamPath } from '../../ledger/transport/frame-stream.ts';
import { ledgerError } from '../../ledger/errors/make-ledger-error.ts';
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import { assertTokenConfidential } from '../../ledger/access/token.ts';
import { integer, listType, type OptionType } from '../../config/option.ts';
import { options } from '../../config/option-table.ts';
import { Inbox } from '../../pipeline/intake/inbox.ts';
import { findKnownInterfaces } from '../../ledger/api/known-interfaces.ts';
import { interfacesNamed } from '../../config/interface-presets.ts';
import type { CommandFlag } from '../command-line/parse.ts';
import type { VerbCall } from './verb.ts';

/** Maximum buffer while the output is slow. When it is full, the ledger has to wait. */
const feedLimits = { frames: 1000, bytes: 8 * 1024 * 1024 };
const batch = { frames: 200, bytes: 1024 * 1024 };

/** Parameters of a stream. */
export type StreamCall = Pick<VerbCall, 'url' | 'config' | 'access' | 'stop'>;

/**
 * The frames as text. Ends when the ledger closes the stream cleanly or the verb is stopped.
 * @param silenceMs also ends after this time without a frame, milliseconds
 * @throws IndexerError the error that ended the stream
 */
export async function* frames(
  call: StreamCall,
  path: StreamPath,
  request: object,
  silenceMs?: number,
): AsyncGenerator<readonly string[]> {
  const { config, access, stop } = call;
  const { insecure } = config.ledger;
  const token = (await access.tokenSource.lease())?.token;
  assertTokenConfidential(call.url, token, insecure);
  const { inbox, stream, opened: openPromise } = openFeed(call, path, request, token);
  const end = (): void => {
    inbox.stop();
  };
  stop.addEventListener('abort', end);
  if (stop.aborted) end();
  try {
    await openPromise;
    for (;;) {
      const silence = silenceMs === undefined ? undefined : setTimeout(end, silenceMs);
      const texts = await inbox.take(batch.frames, batch.bytes).finally(() => {
        clearTimeout(silence);
      });
      if (texts.length === 0) return;
      yield texts;
    }
  } finally {
    stop.removeEventListener('abort', end);
    stream.close();
  }
}

interface Feed {
  readonly inbox: Inbox<string>;
  readonly stream: FrameStream;
  /** Settles when the request is sent, or when the stream has ended before that. */
  readonly opened: Promise<void>;
}

function openFeed(call: StreamCall, path: StreamPath, request: object, token: string | undefined): Feed {
  const { url, config, access, stop } = call;
  let stream: FrameStream | undefined;
  const inbox = new Inbox<string>(feedLimits, {
    pause: () => stream?.pause(),
    resume: () => stream?.resume(),
    paused: () => undefined,
  });
  let onOpen = (): void => undefined;
  const openPromise = new Promise<void>((resolve) => {
    onOpen = resolve;
  });
  stream = openFrameStream({
    url,
    path,
    request,
    token,
    tokenPlacement: config.ledger.tokenPlacement,
    tls: access.tls,
    pingIntervalMs: config.indexer.pingIntervalMs,
    signal: stop,
    onOpen,
    onFrame: (frame) => {
      inbox.push(frame.toString(), frame.length);
    },
    onEnd: (error) => {
      inbox.end(error);
      onOpen();
    },
  });
  return { inbox, stream, opened: openPromise };
}

/** A frame with an offset. */
export interface OffsetRow {
  readonly text: string;
  readonly offset: number;
}

/** A stream that stayed open for this long is opened again even if it sent no frame; milliseconds. */
const minOpenMs = 10_000;

/**
 * A stream without an end. If its token or rights expire, it continues after the last offset.
 * @param read returns the update in a frame, with its offset
 */
export async function* followRows<T extends OffsetRow>(
  call: VerbCall,
  path: StreamPath,
  start: { readonly after: number; request(after: number): object; read(text: string): T },
): AsyncGenerator<readonly T[]> {
  let { after } = start;
  for (;;) {
    const openedAt = performance.now();
    const before = after;
    try {
      for await (const texts of frames(call, path, start.request(after))) {
        const rows = texts.map((text) => start.read(text));
        after = rows.at(-1)?.offset ?? after;
        yield rows;
      }
      if (call.stop.aborted) return;
      throw ledgerError('LEDGER_STREAM_CLOSED', `the ledger ended the stream after offset ${after}`);
    } catch (thrown) {
      const isHealthy = after > before || performance.now() - openedAt > minOpenMs;
      if (!isHealthy || !isStreamExpired(thrown)) throw thrown;
      call.access.tokenSource.invalidate();
    }
  }
}

function isStreamExpired(thrown: unknown): boolean {
  if (!(thrown instanceof IndexerError)) return false;
  return thrown.code === 'LEDGER_TOKEN_EXPIRED' || thrown.code === 'LEDGER_STALE_AUTHORIZATION';
}

export const offsetType = integer(0, Number.MAX_SAFE_INTEGER);

const listLabel = listType({ label: 'text', parse: (input) => ({ value: input }) }).label;

/** Gives a flag the checks of the configuration option that it replaces. */
function likeOption(check: OptionType<unknown>['parse']): OptionType<unknown> {
  return { label: listLabel, parse: (input) => check(input) };
}

export const limitFlag: CommandFlag = {
  name: 'limit',
  value: 'N',
  type: integer(1, Number.MAX_SAFE_INTEGER),
  doc: 'end after this number of rows',
};

export const partyFlag: CommandFlag = {
  name: 'party',
  value: 'PARTY',
  type: likeOption((input) => options.ledger.parties.check(input)),
  doc: 'only data visible to this party; may be repeated; default LEDGER_PARTIES',
};

/** `--template` and `--party`; defaults come from the configuration. */
export const filterFlags: readonly CommandFlag[] = [
  {
    name: 'template',
    value: '#NAME:MODULE:ENTITY',
    type: likeOption((input) => options.ledger.templates.check(input)),
    doc: 'only this template; may be repeated; default LEDGER_TEMPLATES',
  },
  partyFlag,
];

/** The filter of the flags and the configuration. Of the configured interfaces, it has those that the ledger knows. */
export async function filterOf({ args, config, client }: VerbCall): Promise<LedgerFilter> {
  const { parties, templates, wantedInterfaces, createdEventBlobs, shape, topology } = config.ledger;
  const filter = {
    parties: args.list('party') ?? parties,
    templates: args.list('template') ?? templates,
    createdEventBlobs,
    shape,
    topology: topology && !args.has('template'),
  };
  // With `--template`, interfaces are omitted, because an interface filter adds contracts of other templates. Party
  // hosting is omitted too, because its changes have no template.
  const interfaceIds = args.has('template') ? [] : interfacesNamed(wantedInterfaces);
  if (interfaceIds.length === 0) return { ...filter, interfaces: [] };
  return {
    ...filter,
    interfaces: await findKnownInterfaces(client, filter, interfaceIds, await client.state.ledgerEnd()),
  };
}

/** Remedies for interactive use, instead of those for the indexer. */
export const readRemedies = {
  LEDGER_PERMISSION_DENIED:
    'pass a party that the user may read as with --party; run `ledger-indexer ledger rights` to list them',
  LEDGER_FILTER_UNKNOWN:
    'correct the name, or upload the package: run `ledger-indexer ledger packages` to list known packages',
  LEDGER_PRUNED: 'pass a later offset; run `ledger-indexer ledger end` to see the pruned offset',
  LEDGER_OFFSET_AFTER_END: 'pass an earlier offset; run `ledger-indexer ledger end` to see the last one',
  LEDGER_REQUEST_INVALID: 'correct the arguments according to the message',
};
