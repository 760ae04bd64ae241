/** `manifest.json`: the head of the manifest. It names the segments and alone defines the content of the lake. */
import type { ManifestHead } from './entries.ts';
import { linesOf, type Segment } from './segment.ts';

export const manifestName = 'manifest.json';
export const format = 'ledger-indexer lake';
/** In version 1, this file had all ranges and files. */
export const version = 2;

/**
 * The text of the head. Every segment must be stored before.
 * @param previousSegments paths of segments that only the previous head names
 */
export function headText(
  { tables, ...head }: ManifestHead,
  segments: readonly Segment[],
  previousSegments: readonly string[],
): string {
  const entries = Object.entries(tables).map(
    ([name, table]) => `    ${JSON.stringify(name)}: ${JSON.stringify(table)}`,
  );
  const start = JSON.stringify({ format, version, ...head }, null, 2).slice(0, -2);
  const segmentEntries = segments.flatMap(({ stored: segmentEntry }) =>
    segmentEntry === undefined ? [] : [segmentEntry],
  );
  return `${start},
  "tables": {
${entries.join(',\n')}
  },
  "segments": [
${linesOf(segmentEntries)}
  ],
  "previousSegments": ${JSON.stringify(previousSegments)}
}
`;
}
