/**
 * Notes for a client of `/changes`, sent before the first change. They are sent if the filter may wait for changes that
 * will never occur.
 */
import { formatCursor } from '../../model/push/changes.ts';
import type { Begun } from '../changes/change-stream.ts';

/**
 * Part of a filter that matches nothing. The name of an interface never matches, because events name the template of
 * their contract.
 */
export type UnseenName = 'party' | 'template' | 'interface';

export interface Notes {
  readonly headers: Readonly<Record<string, string>>;
  /** Comments at the beginning of an event stream. */
  readonly sentences: readonly string[];
}

export const noNotes: Notes = { headers: {}, sentences: [] };

/** The notes for a stream that begins at `begun`. @param unseen parts of its filter that match nothing */
export function notesOf(unseen: readonly UnseenName[], { after, checkpoint }: Begun): Notes {
  const missing = unseen.filter((name) => name !== 'interface');
  const isInterface = missing.length < unseen.length;
  const isAhead = checkpoint !== null && after.offset > checkpoint;
  const named = isInterface ? [...missing, 'template'] : missing;
  return {
    headers: {
      ...(named.length > 0 && { 'indexer-unmatched-filter': named.join(', ') }),
      ...(isAhead && { 'indexer-checkpoint': String(checkpoint) }),
    },
    sentences: [
      ...(missing.length > 0
        ? [`nothing matches this ${missing.join(' and ')} yet: correct it, unless it will exist later`]
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
