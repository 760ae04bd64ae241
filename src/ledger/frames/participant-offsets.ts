/**
 * Translates offsets between a stream and the participant that it was switched to, in both directions and in all
 * messages. Not used for a stream that never switched participants. Pure.
 */
import type { CreatedEvent, UnassignedEvent } from '../../model/event.ts';
import type { ParticipantRange } from '../../model/stream.ts';
import type { ActiveContractEntry, CompletionFrame, StoredUpdate, Update } from '../../model/update.ts';

export class ParticipantOffsets {
  /** Offsets of the stream up to this one (inclusive) come from previous participants. */
  readonly from: number;
  /** Updates up to this offset (inclusive) may be stored already. */
  readonly repeatsTo: number;
  readonly #shift: number;
  readonly #overlaps: ReadonlyMap<string, number>;

  constructor({ from, shift, overlaps }: Pick<ParticipantRange, 'from' | 'shift' | 'overlaps'>) {
    this.from = from;
    this.#shift = shift;
    this.#overlaps = new Map(Object.entries(overlaps));
    this.repeatsTo = Math.max(from, ...this.#overlaps.values());
  }

  /**
   * The participant's own offset as an offset of the stream. The result is meaningless for an offset from before the
   * switch.
   */
  toStreamOffset(offset: number): number {
    return offset + this.#shift;
  }

  /** The reverse. An offset before the beginning of the participant's ledger becomes its beginning. */
  toParticipantOffset(offset: number): number {
    return Math.max(0, offset - this.#shift);
  }

  /**
   * Whether an update of a synchronizer at this offset of the stream was stored before the switch, under another
   * offset.
   */
  isStored(synchronizerId: string, offset: number): boolean {
    return offset <= this.from || offset <= (this.#overlaps.get(synchronizerId) ?? 0);
  }

  /**
   * Returns the update with its offset converted to an offset of the stream. An update that is already stored becomes a
   * checkpoint: everything up to it has arrived.
   */
  update(update: Update): Update {
    const offset = this.toStreamOffset(update.offset);
    if (update.kind === 'offset_checkpoint') return { ...update, offset };
    if (this.isStored(update.synchronizerId, offset))
      return { kind: 'offset_checkpoint', offset, synchronizerTimes: [] };
    return this.#withEvents({ ...update, offset });
  }

  /**
   * Returns the entry with its offsets converted to offsets of the stream. For a contract that was active before the
   * switch, the result differs from the stored offset, and only distinguishes entries.
   */
  entry(entry: ActiveContractEntry): ActiveContractEntry {
    if (entry.kind === 'empty') return entry;
    if (entry.kind === 'active') return { ...entry, created: this.#moved(entry.created) };
    if (entry.kind === 'incomplete_unassigned') {
      return { ...entry, created: this.#moved(entry.created), unassigned: this.#moved(entry.unassigned) };
    }
    return { ...entry, assigned: { ...entry.assigned, created: this.#moved(entry.assigned.created) } };
  }

  completion(frame: CompletionFrame): CompletionFrame {
    const offset = this.toStreamOffset(frame.offset);
    if (frame.kind === 'offset_checkpoint') return { ...frame, offset };
    const after = frame.deduplicationOffset;
    return { ...frame, offset, deduplicationOffset: typeof after === 'number' ? this.toStreamOffset(after) : after };
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
    return { ...event, offset: this.toStreamOffset(event.offset) };
  }
}
