/**
 * Translates between the offsets of the participant that a stream was switched to and those of the stream, in both
 * directions and in all messages. A stream that never switched participants has none of this. Pure.
 */
import type { CreatedEvent, UnassignedEvent } from '../../model/event.ts';
import type { ParticipantRange } from '../../model/stream.ts';
import type { ActiveContractEntry, CompletionFrame, StoredUpdate, Update } from '../../model/update.ts';

export class ParticipantOffsets {
  /** Offsets of the stream up to here (inclusive) are of previous participants. */
  readonly from: number;
  /** Updates up to here may be stored already (inclusive). */
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
   * The participant's own offset as one of the stream. An offset from before the switch gets one that has no meaning
   * here.
   */
  toStreamOffset(offset: number): number {
    return offset + this.#shift;
  }

  /** The reverse; an offset before its beginning becomes its beginning. */
  toParticipantOffset(offset: number): number {
    return Math.max(0, offset - this.#shift);
  }

  /**
   * Whether an update of a synchronizer, at this offset of the stream, was stored before the switch, under another
   * offset.
   */
  isStored(synchronizerId: string, offset: number): boolean {
    return offset <= this.from || offset <= (this.#overlaps.get(synchronizerId) ?? 0);
  }

  /** An update that is stored already becomes a checkpoint: everything up to it has arrived. */
  update(update: Update): Update {
    const offset = this.toStreamOffset(update.offset);
    if (update.kind === 'offset_checkpoint') return { ...update, offset };
    if (this.isStored(update.synchronizerId, offset))
      return { kind: 'offset_checkpoint', offset, synchronizerTimes: [] };
    return this.#withEvents({ ...update, offset });
  }

  /** For contracts active before the switch, the offset only distinguishes entries: it is not the stored one. */
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
