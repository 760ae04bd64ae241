/**
 * Scrubs each log line before the process writes it. Replaces everything that looks like a token or like a password in
 * a URL, even if a message contains it by accident. It works on text, so it also covers output that did not pass
 * through a serializer.
 *
 * An untrusted party may choose the text, which may have megabytes, and scrubbing blocks the event loop. Therefore the
 * time must be linear in the length of the text. Each pattern consumes a complete run of characters and always matches.
 * A pattern that fails late would be retried at every character of the run.
 */
import { filterHidden } from '../../errors/visible-text.ts';

/**
 * Returns the line without JWTs, reader tokens, bearer tokens, URL credentials and query strings of URLs, even if
 * hidden characters are in them or before them. JSON remains valid, because no match crosses a quote.
 */
export function scrub(line: string): string {
  return filterHidden(line, scrubLine);
}

function scrubLine(line: string): string {
  const lineWithoutJwts = line.includes('eyJ') ? line.replaceAll(/[\w.-]+/g, hideJwts) : line;
  const withoutTokens = lineWithoutJwts
    .replaceAll(/lir_[\w-]{8,}/g, '[token]')
    .replaceAll(/(bearer)\s+[\w.~+/=-]+/gi, '$1 [token]');
  return withoutTokens.includes('://') ? withoutTokens.replaceAll(/[^\s"\\]+/g, hideInUrls) : withoutTokens;
}

/**
 * A JWT has two or three parts separated by dots, and its first part contains `eyJ`. Characters before that are not
 * hidden.
 */
function hideJwts(run: string): string {
  const parts = run.split('.');
  const output: string[] = [];
  for (let index = 0; index < parts.length; index += 1) {
    const segment = parts[index] ?? '';
    const jwtStart = segment.indexOf('eyJ');
    const isJwt = jwtStart >= 0 && segment.length > jwtStart + 3 && (parts[index + 1] ?? '') !== '';
    output.push(isJwt ? `${segment.slice(0, jwtStart)}[token]` : segment);
    if (isJwt) index += 2;
  }
  return output.join('.');
}

function hideInUrls(run: string): string {
  return run.includes('://') ? hideCredentials(run).split('#').map(hideUrlQuery).join('#') : run;
}

/** Hides everything up to the last `@`, because a password may contain an `@`. */
function hideCredentials(run: string): string {
  const user = /:\/\/[^:/@]*:/.exec(run);
  const credentialStart = user === null ? run.length : user.index + user[0].length;
  const end = run.lastIndexOf('@');
  return end < credentialStart ? run : `${run.slice(0, credentialStart)}***${run.slice(end)}`;
}

function hideUrlQuery(segment: string): string {
  const schemeEnd = segment.indexOf('://');
  const query = schemeEnd < 0 ? -1 : segment.indexOf('?', schemeEnd + 3);
  return query < 0 || query + 1 === segment.length ? segment : `${segment.slice(0, query + 1)}***`;
}
