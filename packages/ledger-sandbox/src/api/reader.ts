/**
 * Reads the result of a checked request one slice at a time. If the receiver is slow, reading waits, so the sandbox
 * never holds more than one slice. If the position of a reader is pruned, the next slice reports it.
 */
import { prunedAccess } from '../wire/failure.ts';
import type { StoredUpdate } from '../ledger/history.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sealToken } from '../wire/page-token.ts';
import type { Participant } from './participant.ts';
import { Renderer } from './render.ts';
import { transactionTree } from './trees.ts';
import type { ActiveContractsRequest, UpdatesRequest } from './requests.ts';
import { valueOf } from '../wire/wire.ts';

const maxUpdatesPerSlice = 64;
/** Number of offsets that the participant reads at a time, and that its refusal names if they were pruned. */
const readAhead = 450;

export class UpdatesReader {
  readonly #ledger: Ledger;
  readonly #request: UpdatesRequest;
  readonly #renderer: Renderer;
  /** Everything up to this offset was read and, if visible, delivered. */
  #position: number;
  readonly #recordTimes = new Map<string, string>();
  /** Position of a read in descending order: everything above this offset was delivered. */
  #top: number;

  constructor(participant: Participant, request: UpdatesRequest) {
    this.#ledger = participant.ledger;
    this.#request = request;
    this.#renderer = new Renderer(participant);
    this.#position = request.beginExclusive;
    this.#top = request.endInclusive ?? 0;
  }

  get position(): number {
    return this.#position;
  }

  /** True if a bounded request has delivered everything. */
  get finished(): boolean {
    const { endInclusive, descending } = this.#request;
    return descending
      ? this.#top <= this.#request.beginExclusive
      : endInclusive !== undefined && this.#position >= endInclusive;
  }

  /** True if there is nothing to read right now. */
  get caughtUp(): boolean {
    return this.#position >= (this.#request.endInclusive ?? this.#ledger.ledgerEnd());
  }

  /** The frames of the next slice; empty if there is none, or if no part of it is visible. Throws if it was pruned. */
  read(): string[] {
    const end = this.#request.endInclusive ?? this.#ledger.ledgerEnd();
    const prunedOffset = this.#ledger.prunedTo();
    if (this.#position < prunedOffset) {
      const to = Math.min(end, this.#position + readAhead);
      throw prunedAccess(`Transactions request from ${this.#position + 1} to ${to}`, prunedOffset);
    }
    if (this.#request.descending) return this.#readDescending();
    const storedUpdates = this.#ledger.range(this.#position, end, maxUpdatesPerSlice);
    this.#position =
      storedUpdates.length < maxUpdatesPerSlice ? Math.max(end, this.#position) : (storedUpdates.at(-1)?.offset ?? end);
    const frames: string[] = [];
    for (const storedUpdate of storedUpdates) {
      if (storedUpdate.update !== undefined)
        this.#recordTimes.set(valueOf(storedUpdate.update).synchronizerId, valueOf(storedUpdate.update).recordTime);
      const frame = this.#print(storedUpdate);
      if (frame !== undefined) frames.push(frame);
    }
    return frames;
  }

  /** An OffsetCheckpoint of the ledger at the position read so far. */
  checkpoint(): string {
    const offset = this.#position;
    const knownRecordTime = offset >= this.#ledger.ledgerEnd() ? this.#ledger.recordTimes() : this.#recordTimes;
    const synchronizerTimes = [...knownRecordTime].map(([synchronizerId, recordTime]) => ({
      synchronizerId,
      recordTime,
    }));
    return JSON.stringify({ update: { OffsetCheckpoint: { value: { offset, synchronizerTimes } } } });
  }

  #readDescending(): string[] {
    const beginOffset = this.#request.beginExclusive;
    const storedUpdates = this.#ledger.range(beginOffset, this.#top, maxUpdatesPerSlice, true);
    this.#top =
      storedUpdates.length < maxUpdatesPerSlice ? beginOffset : (storedUpdates.at(-1)?.offset ?? beginOffset + 1) - 1;
    return storedUpdates.map((storedUpdate) => this.#print(storedUpdate)).filter((frame) => frame !== undefined);
  }

  #print(storedUpdates: StoredUpdate): string | undefined {
    const { form, format } = this.#request;
    return form === 'trees'
      ? transactionTree(this.#renderer, storedUpdates, format)
      : this.#renderer.update(storedUpdates, format);
  }
}

/** Yields the active-contracts entries of a request, one text each. */
export function* activeContracts(participant: Participant, request: ActiveContractsRequest): Generator<string> {
  const renderer = new Renderer(participant);
  const { activeAtOffset, format, skip, binding, incomplete } = request;
  let position = 0;
  for (const activeEntry of participant.ledger.activeAt(activeAtOffset)) {
    position += 1;
    if (position <= skip || (!incomplete && activeEntry.as !== 'JsActiveContract')) continue;
    const entry = renderer.entry(activeEntry, format, sealToken(binding, activeAtOffset, position));
    if (entry !== undefined) yield entry;
  }
}
