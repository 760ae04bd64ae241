/**
 * Offsets of the participant that a stream was moved to, and those of the stream: both ways, and in whatever a participant
 * tells. A stream that was never moved has none of this. Pure.
 */
import type { CreatedEvent, UnassignedEvent } from '../../model/event.ts';
import type { HostStretch } from '../../model/stream.ts';
import type { ActiveContractEntry, CompletionFrame, StoredUpdate, Update } from '../../model/update.ts';

export class HostOffsets {
  /** Offsets of the stream up to here (inclusive) are of participants before this one. */
  readonly from: number;
  /** What came up to here may be stored already (inclusive). */
  readonly repeatsTo: number;
  readonly #shift: number;
  readonly #levels: ReadonlyMap<string, number>;

  constructor({ from, shift, levels }: Pick<HostStretch, 'from' | 'shift' | 'levels'>) {
    this.from = from;
    this.#shift = shift;
    this.#levels = new Map(Object.entries(levels));
    this.repeatsTo = Math.max(from, ...this.#levels.values());
  }

  /** The participant's own offset as one of the stream. What it had before the move gets one that means nothing here. */
  ours(offset: number): number {
    return offset + this.#shift;
  }

  /** The other way; what was before its beginning is its beginning. */
  theirs(offset: number): number {
    return Math.max(0, offset - this.#shift);
  }

  /** Whether an update of a synchronizer, at this offset of the stream, was stored before the move, under another offset. */
  isStored(synchronizerId: string, offset: number): boolean {
    return offset <= this.from || offset <= (this.#levels.get(synchronizerId) ?? 0);
  }

  /** One that is stored already says no more than that everything up to it has come. */
  update(update: Update): Update {
    const offset = this.ours(update.offset);
    if (update.kind === 'offset_checkpoint') return { ...update, offset };
    if (this.isStored(update.synchronizerId, offset))
      return { kind: 'offset_checkpoint', offset, synchronizerTimes: [] };
    return this.#withEvents({ ...update, offset });
  }

  /** Of what was active before the move the offset only tells entries apart: it is not the one that is stored here. */
  entry(entry: ActiveContractEntry): ActiveContractEntry {
    if (entry.kind === 'empty') return entry;
    if (entry.kind === 'active') return { ...entry, created: this.#moved(entry.created) };
    if (entry.kind === 'incomplete_unassigned') {
      return { ...entry, created: this.#moved(entry.created), unassigned: this.#moved(entry.unassigned) };
    }
    return { ...entry, assigned: { ...entry.assigned, created: this.#moved(entry.assigned.created) } };
  }

  completion(frame: CompletionFrame): CompletionFrame {
    const offset = this.ours(frame.offset);
    if (frame.kind === 'offset_checkpoint') return { ...frame, offset };
    const after = frame.deduplicationOffset;
    return { ...frame, offset, deduplicationOffset: typeof after === 'number' ? this.ours(after) : after };
  }

  #withEvents(update: StoredUpdate): StoredUpdate {
    if (update.kind === 'transaction') {
      const events = update.events.map((event) => (event.kind === 'created' ? this.#moved(event) : event));
      return { ...update, events };
    }
    if (update.kind !== 'reassignment') return update;
    const events = update.events.map((event) =>
      event.kind === 'unassigned' ? this.#moved(event) : { ...event, created: this.#moved(event.created) },
    );
    return { ...update, events };
  }

  #moved<E extends CreatedEvent | UnassignedEvent>(event: E): E {
    return { ...event, offset: this.ours(event.offset) };
  }
}
