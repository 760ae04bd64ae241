/**
 * A copy that holds nothing else. The engine makes parts of a text share its memory: a name kept for long would keep the
 * whole frame it was read from.
 */
export function ownText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
