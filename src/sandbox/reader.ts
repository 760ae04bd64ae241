/**
 * Reads what a checked request asks for, a slice at a time, so that a slow receiver holds back the reading and never
 * makes the sandbox hold more than one slice. Pruning that overtakes a reader is reported at the next slice.
 */
import { prunedAccess } from './failure.ts';
import type { Ledger } from './ledger.ts';
import { Renderer } from './render.ts';
import { continuationToken } from './requests.ts';
import type { ActiveContractsRequest, UpdatesRequest } from './requests.ts';
import { valueOf } from './wire.ts';

const slice = 64;

export class UpdatesReader {
  readonly #ledger: Ledger;
  readonly #request: UpdatesRequest;
  readonly #renderer: Renderer;
  /** Everything up to here was looked at and delivered if visible. */
  #position: number;
  readonly #recordTimes = new Map<string, string>();
  #descended = false;

  constructor(ledger: Ledger, request: UpdatesRequest) {
    this.#ledger = ledger;
    this.#request = request;
    this.#renderer = new Renderer(ledger.model);
    this.#position = request.beginExclusive;
  }

  get position(): number {
    return this.#position;
  }

  /** True when a bounded request has delivered everything. */
  get finished(): boolean {
    const { endInclusive, descending } = this.#request;
    return descending ? this.#descended : endInclusive !== undefined && this.#position >= endInclusive;
  }

  /** True when nothing is left to look at right now. */
  get caughtUp(): boolean {
    return this.#position >= (this.#request.endInclusive ?? this.#ledger.ledgerEnd());
  }

  /** The frames of the next slice; empty when all of it is invisible or nothing is there. Throws when pruned. */
  read(): string[] {
    const end = this.#request.endInclusive ?? this.#ledger.ledgerEnd();
    const pruned = this.#ledger.prunedTo();
    if (this.#position < pruned && !this.#descended) {
      throw prunedAccess(`Updates request from ${this.#position} to ${end}`, pruned);
    }
    if (this.#request.descending) return this.#readDescending(end);
    const stored = this.#ledger.range(this.#position, end, slice);
    this.#position = stored.length < slice ? Math.max(end, this.#position) : (stored.at(-1)?.offset ?? end);
    const frames: string[] = [];
    for (const one of stored) {
      if (one.update !== undefined)
        this.#recordTimes.set(valueOf(one.update).synchronizerId, valueOf(one.update).recordTime);
      const frame = this.#renderer.update(one, this.#request.format);
      if (frame !== undefined) frames.push(frame);
    }
    return frames;
  }

  /** The ledger's own checkpoint for what this reader has looked at. */
  checkpoint(): string {
    const offset = this.#position;
    const known = offset >= this.#ledger.ledgerEnd() ? this.#ledger.recordTimes() : this.#recordTimes;
    const synchronizerTimes = [...known].map(([synchronizerId, recordTime]) => ({ synchronizerId, recordTime }));
    return JSON.stringify({ update: { OffsetCheckpoint: { value: { offset, synchronizerTimes } } } });
  }

  #readDescending(end: number): string[] {
    this.#descended = true;
    const stored = this.#ledger.range(this.#position, end, Infinity);
    const frames = stored.map((one) => this.#renderer.update(one, this.#request.format));
    return frames.filter((frame) => frame !== undefined).toReversed();
  }
}

/** The active-contracts entries of a request, one text each, lazily. */
export function* activeContracts(ledger: Ledger, request: ActiveContractsRequest): Generator<string> {
  const renderer = new Renderer(ledger.model);
  const { activeAtOffset, format, skip } = request;
  let count = 0;
  for (const activation of ledger.activeAt(activeAtOffset)) {
    const token = continuationToken(activeAtOffset, count + 1);
    const entry = renderer.activation(activation, format, activeAtOffset, token);
    if (entry === undefined) continue;
    count += 1;
    if (count > skip) yield entry;
  }
}
