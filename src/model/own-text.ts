/**
 * A copy that shares no memory. The engine lets parts of a text share its memory: a name kept for long would keep the
 * entire frame it was read from.
 */
export function ownText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
