/** Notes to a client of `/changes` before the first change: its request may wait for what never comes. */
import { formatCursor } from '../../model/push/changes.ts';
import type { Begun } from '../changes/change-stream.ts';

/** What of a filter finds nothing. An interface is no template: events name the template of their contract. */
export type UnseenName = 'party' | 'template' | 'interface';

export interface Notes {
  readonly headers: Readonly<Record<string, string>>;
  /** Comments at the beginning of an event stream. */
  readonly sentences: readonly string[];
}

export const noNotes: Notes = { headers: {}, sentences: [] };

/** The notes on a stream whose filter names `unseen`, and that begins where `begun` says. */
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
      ...(missing.length > 0 ? [`nothing has this ${missing.join(' and ')} yet: correct it, unless it will come`] : []),
      ...(isInterface ? ['this template is an interface: name a template, events have those'] : []),
      ...(isAhead
        ? [
            `${formatCursor(after)} is ahead: history ends at offset ${String(checkpoint)}; correct it, unless it will come`,
          ]
        : []),
    ],
  };
}
