/**
 * The two WebSocket streams after their handshake: one request frame in, one JSON object per text frame out, refusals
 * as a frame before a normal close. Later frames of the client are ignored.
 */
import type { Connection } from './connection.ts';
import { LedgerFailure, undecodableFrame } from './failure.ts';
import type { Faults } from './faults.ts';
import { asObject, parseJson } from './json.ts';
import type { JsonObject } from './json.ts';
import type { Ledger } from './ledger.ts';
import { UpdatesReader, activeContracts } from './reader.ts';
import { parseActiveContractsRequest, parseUpdatesRequest } from './requests.ts';

export interface StreamSettings {
  readonly ledger: Ledger;
  readonly faults: Faults;
  /** Milliseconds between OffsetCheckpoints. */
  readonly checkpointIntervalMs: number;
}

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

/** Serves /v2/updates for the request text. Resolves when the stream is over. */
export async function serveUpdates(connection: Connection, text: string, settings: StreamSettings): Promise<void> {
  await guarded(connection, async () => {
    const request = parseUpdatesRequest(decode(text), settings.ledger);
    const reader = new UpdatesReader(settings.ledger, request);
    const checkpoints = new Checkpoints(reader, settings, request.beginExclusive);
    while (connection.open && !reader.finished) {
      for (const frame of reader.read()) await connection.send(frame);
      await breathe();
      if (request.endInclusive !== undefined) continue;
      for (const frame of checkpoints.due()) await connection.send(frame);
      if (!reader.caughtUp) continue;
      await connection.wait(checkpoints.remainingMs(), (wake) => settings.ledger.onChange(wake));
    }
  });
}

/** Serves /v2/state/active-contracts for the request text. Resolves when the stream is over. */
export async function serveActiveContracts(
  connection: Connection,
  text: string,
  { ledger }: StreamSettings,
): Promise<void> {
  await guarded(connection, async () => {
    const request = parseActiveContractsRequest(decode(text), ledger);
    let sent = 0;
    for (const entry of activeContracts(ledger, request)) {
      await connection.send(entry);
      if (!connection.open) return;
      sent += 1;
      if (sent % 64 === 0) await breathe();
    }
  });
}

/** When the ledger's own OffsetCheckpoints are due on one stream: only if the offset moved, then by timer. */
class Checkpoints {
  readonly #reader: UpdatesReader;
  readonly #settings: StreamSettings;
  #last: number;
  #dueAt = performance.now() + firstCheckpointMs;

  constructor(reader: UpdatesReader, settings: StreamSettings, beginExclusive: number) {
    this.#reader = reader;
    this.#settings = settings;
    this.#last = beginExclusive;
  }

  remainingMs(): number {
    return this.#dueAt - performance.now();
  }

  /** The checkpoint frames to send now; none before the time or when nothing moved. */
  due(): string[] {
    if (this.remainingMs() > 0) return [];
    this.#dueAt = performance.now() + this.#settings.checkpointIntervalMs;
    if (this.#reader.position <= this.#last) return [];
    this.#last = this.#reader.position;
    const frame = this.#reader.checkpoint();
    return this.#settings.faults.duplicateCheckpoints === true ? [frame, frame] : [frame];
  }
}
