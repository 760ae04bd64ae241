/**
 * A copy that shares no memory. In the JavaScript engine, a part of a text shares the memory of the text: a name that
 * is kept for long would keep the entire frame it was read from.
 */
export function detachText(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
