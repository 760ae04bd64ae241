/**
 * The WebSocket streams of updates, contracts and completions after their handshake. The client sends one request
 * frame. The sandbox sends one JSON object per text frame, and a refusal as a frame before a normal close. Later frames
 * of the client are ignored.
 */
import type { Caller } from '../identity/caller.ts';
import type { Connection } from '../faults/connection.ts';
import { LedgerFailure, UndecodableRequest, undecodableFrame } from '../wire/failure.ts';
import { asObject, parseRequest } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Participant } from './participant.ts';
import { UpdatesReader, activeContracts } from './reader.ts';
import { refusalIn } from '../contracts/release-fields.ts';
import { parseActiveContractsRequest, parseUpdatesRequest } from './requests.ts';
import type { UpdatesForm } from './requests.ts';

/** Milliseconds until the first checkpoint. The time is short, so that a client soon detects that it has caught up. */
const firstCheckpointMs = 500;

/**
 * Parses the request of a stream. Throws LEDGER_API_INTERNAL_ERROR if it is not a JSON object, or is nested too deeply.
 */
export function decode(text: string, { limits }: Participant): JsonObject {
  const body = asObject(parseRequest(text, limits.nesting));
  if (body === undefined) throw undecodableFrame(text);
  return body;
}

/** Runs a stream until its end. A refusal becomes the last frame. */
export async function guardStream(
  connection: Connection,
  text: string,
  { release }: Participant,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run();
    connection.finish();
  } catch (error) {
    if (error instanceof UndecodableRequest) return connection.refuse(undecodableFrame(text));
    if (!(error instanceof LedgerFailure)) {
      connection.finish(1011);
      throw error;
    }
    await connection.refuse(refusalIn(release, error));
  }
}

/** Lets sockets and timers run between two slices. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * Returns a function that sends one element. Like the participant, it checks the authorization of the stream before
 * each element.
 */
function element(connection: Connection, caller: Caller): (frame: string) => Promise<void> {
  return async (frame) => {
    caller.assertCurrent();
    await connection.send(frame);
  };
}

/** Serves /v2/updates, or its deprecated tree form, for the request text. Resolves at the end of the stream. */
export async function serveUpdates(
  connection: Connection,
  text: string,
  participant: Participant,
  caller: Caller,
  form: UpdatesForm = 'updates',
): Promise<void> {
  await guardStream(connection, text, participant, async () => {
    const request = parseUpdatesRequest(decode(text, participant), participant, caller, form);
    const reader = new UpdatesReader(participant, request);
    await follow(connection, { participant, caller, reader, ...request });
  });
}

/** Source of a stream: slices of frames, and checkpoints at the position read so far. */
export interface FrameReader {
  /** Everything up to this offset was read. */
  readonly position: number;
  /** True if there is nothing to read right now. */
  readonly caughtUp: boolean;
  /** True if there will never be anything more to read. */
  readonly finished: boolean;
  read(): string[];
  checkpoint(): string;
}

export interface StreamSource {
  readonly participant: Participant;
  readonly caller: Caller;
  readonly reader: FrameReader;
  readonly beginExclusive: number;
  /** Undefined to follow without end, with checkpoints. */
  readonly endInclusive: number | undefined;
}

/**
 * Returns a function that detects whether another participant has replaced this one. A running participant cannot be
 * restored, so it was stopped, together with its streams.
 */
function restartsOf({ ledger }: Participant): () => boolean {
  const { life } = ledger;
  return () => ledger.life !== life;
}

/** Sends the reader's frames until the reader has finished, the socket closes, or the authorization ends. */
export async function follow(connection: Connection, source: StreamSource): Promise<void> {
  const { participant, caller, reader, beginExclusive, endInclusive } = source;
  const checkpoints = new Checkpoints(reader, participant, beginExclusive);
  const send = element(connection, caller);
  const restarted = restartsOf(participant);
  while (connection.open && !reader.finished) {
    // Checked before any read or send, so that no frame of the new participant follows a frame of the previous one.
    if (restarted()) return connection.cut();
    for (const frame of reader.read()) {
      await send(frame);
      if (restarted()) return connection.cut();
    }
    await yieldToEventLoop();
    if (restarted()) return connection.cut();
    if (endInclusive !== undefined) continue;
    for (const frame of checkpoints.due()) await send(frame);
    if (!reader.caughtUp) continue;
    const waitMs = Math.min(checkpoints.remainingMs(), caller.rightsCheckInMs());
    await connection.wait(waitMs, (wake) => participant.ledger.onChange(wake));
    caller.assertRights();
  }
}

/** Serves /v2/state/active-contracts for the request text. Resolves at the end of the stream. */
export async function serveActiveContracts(
  connection: Connection,
  text: string,
  participant: Participant,
  caller: Caller,
): Promise<void> {
  await guardStream(connection, text, participant, async () => {
    const request = parseActiveContractsRequest(decode(text, participant), participant, caller);
    const send = element(connection, caller);
    const restarted = restartsOf(participant);
    let sentFrames = 0;
    for (const entry of activeContracts(participant, request)) {
      if (restarted()) return connection.cut();
      await send(entry);
      if (!connection.open) return;
      sentFrames += 1;
      if (sentFrames % 64 === 0) await yieldToEventLoop();
    }
  });
}

/**
 * Decides when an OffsetCheckpoint of the ledger is due on one stream: only if the offset has changed, and then at
 * intervals.
 */
class Checkpoints {
  readonly #reader: FrameReader;
  readonly #participant: Participant;
  #last: number;
  #dueAt = performance.now() + firstCheckpointMs;

  constructor(reader: FrameReader, participant: Participant, beginExclusive: number) {
    this.#reader = reader;
    this.#participant = participant;
    this.#last = beginExclusive;
  }

  remainingMs(): number {
    return this.#dueAt - performance.now();
  }

  /** The checkpoint frames to send now; empty before the time is due, or if the offset has not changed. */
  due(): string[] {
    if (this.remainingMs() > 0) return [];
    this.#dueAt = performance.now() + this.#participant.limits.checkpointIntervalMs;
    if (this.#reader.position <= this.#last) return [];
    this.#last = this.#reader.position;
    return [this.#reader.checkpoint()];
  }
}
