/**
 * Notes for a client of `/changes`, sent before the first change. They are sent if the filter may wait for changes that
 * will never occur.
 */
import type { UnknownName } from '../../config/selection/change-selection.ts';
import { formatCursor } from '../../model/push/changes.ts';
import type { BegunStream } from '../changes/change-stream.ts';

export interface StreamNotes {
  readonly headers: Readonly<Record<string, string>>;
  /** Comments at the beginning of an event stream. */
  readonly sentences: readonly string[];
}

export const emptyNotes: StreamNotes = { headers: {}, sentences: [] };

/** The notes for a stream that begins at `begun`. @param unknownNames parts of its selection that match nothing yet */
export function streamNotesOf(unknownNames: readonly UnknownName[], { after, checkpoint }: BegunStream): StreamNotes {
  const parameters = unknownNames.map(({ parameter }) => parameter);
  const isAhead = checkpoint !== null && after.offset > checkpoint;
  return {
    headers: {
      ...(parameters.length > 0 && { 'indexer-unmatched-filter': parameters.join(', ') }),
      ...(isAhead && { 'indexer-checkpoint': String(checkpoint) }),
    },
    sentences: [
      ...(parameters.length > 0
        ? [`nothing matches this ${parameters.join(' and ')} yet: correct it, unless it will exist later`]
        : []),
      ...(isAhead
        ? [
            `${formatCursor(after)} is ahead: history ends at offset ${String(checkpoint)}; correct it, unless it will exist later`,
          ]
        : []),
    ],
  };
}
