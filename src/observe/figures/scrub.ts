/**
 * The last stage before a log line leaves the process: whatever looks like a token or a password in a URL is replaced,
 * even when some message carried it in by accident. Works on text, so it also covers what no serializer has seen.
 */

/** The line without JWTs, tokens of readers, bearer tokens, URL credentials and queries of URLs. JSON stays valid: no match crosses a quote. */
export function scrub(line: string): string {
  return line
    .replaceAll(/eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, '[token]')
    .replaceAll(/lir_[\w-]{8,}/g, '[token]')
    .replaceAll(/\b(bearer)\s+[\w.~+/=-]+/gi, '$1 [token]')
    .replaceAll(/:\/\/([^\s:/@"\\]*):[^\s"\\]*@/g, '://$1:***@')
    .replaceAll(/(:\/\/[^\s?#"\\]*\?)[^\s#"\\]+/g, '$1***');
}
