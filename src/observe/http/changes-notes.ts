/**
 * Notes for a client of `/changes`, sent before the first change. They are sent if the filter may wait for changes that
 * will never occur.
 */
import { formatCursor } from '../../model/push/changes.ts';
import type { BegunStream } from '../changes/change-stream.ts';

/**
 * Kind of a filter name that matches nothing stored. An interface name never matches, because events carry the template
 * of their contract.
 */
export type UnseenNameKind = 'party' | 'template' | 'interface';

export interface StreamNotes {
  readonly headers: Readonly<Record<string, string>>;
  /** Comments at the beginning of an event stream. */
  readonly sentences: readonly string[];
}

export const emptyNotes: StreamNotes = { headers: {}, sentences: [] };

/** The notes for a stream that begins at `begun`. @param unseenNames parts of its filter that match nothing */
export function streamNotesOf(unseenNames: readonly UnseenNameKind[], { after, checkpoint }: BegunStream): StreamNotes {
  const missingNames = unseenNames.filter((name) => name !== 'interface');
  const isInterface = missingNames.length < unseenNames.length;
  const isAhead = checkpoint !== null && after.offset > checkpoint;
  const hintNames = isInterface ? [...missingNames, 'template'] : missingNames;
  return {
    headers: {
      ...(hintNames.length > 0 && { 'indexer-unmatched-filter': hintNames.join(', ') }),
      ...(isAhead && { 'indexer-checkpoint': String(checkpoint) }),
    },
    sentences: [
      ...(missingNames.length > 0
        ? [`nothing matches this ${missingNames.join(' and ')} yet: correct it, unless it will exist later`]
        : []),
      ...(isInterface ? ['this template is an interface: use a template, because events name templates'] : []),
      ...(isAhead
        ? [
            `${formatCursor(after)} is ahead: history ends at offset ${String(checkpoint)}; correct it, unless it will exist later`,
          ]
        : []),
    ],
  };
}
