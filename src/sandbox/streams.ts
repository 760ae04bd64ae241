/**
 * The two WebSocket streams after their handshake: one request frame in, one JSON object per text frame out, refusals
 * as a frame before a normal close. Later frames of the client are ignored.
 */
import type { Caller } from './caller.ts';
import type { Connection } from './connection.ts';
import { LedgerFailure, undecodableFrame } from './failure.ts';
import { asObject, parseJson } from './json.ts';
import type { JsonObject } from './json.ts';
import type { Participant } from './participant.ts';
import { UpdatesReader, activeContracts } from './reader.ts';
import { parseActiveContractsRequest, parseUpdatesRequest } from './requests.ts';

/** The first checkpoint comes soon, so that a client learns quickly that it has caught up. */
const firstCheckpointMs = 500;

function decode(text: string): JsonObject {
  const body = asObject(parseJson(text));
  if (body === undefined) throw undecodableFrame(text);
  return body;
}

/** Runs a stream to its end; a refusal becomes the last frame. */
async function guarded(connection: Connection, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    connection.finish();
  } catch (thrown) {
    if (!(thrown instanceof LedgerFailure)) {
      connection.finish(1011);
      throw thrown;
    }
    await connection.refuse(thrown);
  }
}

/** Lets sockets and timers have their turn between two slices. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Sends one element; like the participant, it looks at the authorization of the stream before each. */
function element(connection: Connection, caller: Caller): (frame: string) => Promise<void> {
  return async (frame) => {
    caller.assertCurrent();
    await connection.send(frame);
  };
}

/** Serves /v2/updates for the request text. Resolves when the stream is over. */
export async function serveUpdates(
  connection: Connection,
  text: string,
  participant: Participant,
  caller: Caller,
): Promise<void> {
  const { ledger } = participant;
  await guarded(connection, async () => {
    const request = parseUpdatesRequest(decode(text), ledger, caller);
    const reader = new UpdatesReader(ledger, request);
    const checkpoints = new Checkpoints(reader, participant, request.beginExclusive);
    const send = element(connection, caller);
    while (connection.open && !reader.finished) {
      for (const frame of reader.read()) await send(frame);
      await breathe();
      if (request.endInclusive !== undefined) continue;
      for (const frame of checkpoints.due()) await send(frame);
      if (!reader.caughtUp) continue;
      await connection.wait(checkpoints.remainingMs(), (wake) => ledger.onChange(wake));
    }
  });
}

/** Serves /v2/state/active-contracts for the request text. Resolves when the stream is over. */
export async function serveActiveContracts(
  connection: Connection,
  text: string,
  { ledger }: Participant,
  caller: Caller,
): Promise<void> {
  await guarded(connection, async () => {
    const request = parseActiveContractsRequest(decode(text), ledger, caller);
    const send = element(connection, caller);
    let sent = 0;
    for (const entry of activeContracts(ledger, request)) {
      await send(entry);
      if (!connection.open) return;
      sent += 1;
      if (sent % 64 === 0) await breathe();
    }
  });
}

/** When the ledger's own OffsetCheckpoints are due on one stream: only if the offset moved, then by timer. */
class Checkpoints {
  readonly #reader: UpdatesReader;
  readonly #participant: Participant;
  #last: number;
  #dueAt = performance.now() + firstCheckpointMs;

  constructor(reader: UpdatesReader, participant: Participant, beginExclusive: number) {
    this.#reader = reader;
    this.#participant = participant;
    this.#last = beginExclusive;
  }

  remainingMs(): number {
    return this.#dueAt - performance.now();
  }

  /** The checkpoint frames to send now; none before the time or when nothing moved. */
  due(): string[] {
    if (this.remainingMs() > 0) return [];
    this.#dueAt = performance.now() + this.#participant.limits.checkpointIntervalMs;
    if (this.#reader.position <= this.#last) return [];
    this.#last = this.#reader.position;
    const frame = this.#reader.checkpoint();
    return this.#participant.faults.duplicateCheckpoints === true ? [frame, frame] : [frame];
  }
}
