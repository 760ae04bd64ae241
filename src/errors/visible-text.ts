/**
 * Escapes control and format characters in untrusted text. A terminal executes control characters. Format characters
 * (such as U+202E) make terminals and browsers reorder or hide text, so that one name can look like another.
 */

/** Format characters (category Cf), and separators that some programs treat as line breaks. */
const format = /[\p{Cf}\u2028\u2029]/gu;
const steering = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** The same characters as in `steering`, except tabs and line breaks (including those of CSV). */
const steeringLines = /[\p{Cf}\u2028\u2029]|(?!\t|\r?\n)\p{Cc}/gu;

/** Escapes every control and format character, in the form `\u001b`. */
export function escapeSteering(text: string): string {
  return text.replaceAll(steering, escaped);
}

/** Like {@link escapeSteering}, but keeps line breaks and tabs. */
export function escapeSteeringInLines(text: string): string {
  return text.replaceAll(steeringLines, escaped);
}

/** Escapes every format character, in the form `\u202e`. This does not change the meaning of JSON text. */
export function escapeFormat(text: string): string {
  return text.replaceAll(format, escaped);
}

function escaped(found: string): string {
  const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

// Makes filters of secrets independent of hidden characters. A third party could put a hidden character into a token or
// in front of it. The filter would then not find the token, but a reader who copies the text would have it.

/** Format, control and ignorable characters, except those that separate words and lines. */
const hidden = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?![\t\n\r])\p{Cc}/gu;
const isHidden = /^(?:[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?![\t\n\r])\p{Cc})$/u;
/**
 * Matches backslashes with the characters that they escape: `\u202e` in JSON, `\\u202e` if an escaped text was put into
 * JSON, and a surrogate pair of the only hidden plane. The pattern matches a complete run of backslashes and never
 * fails after one, so it takes linear time.
 */
const escapes = /\\+(?:u[dD][bB]4[0-3]\\+u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[bf])?/g;

/**
 * The filtered text. If hidden characters prevented the filter from finding a secret or a part of it, they are removed
 * from the result.
 */
export function filterHidden(text: string, filter: (text: string) => string): string {
  const filtered = filter(text);
  const visible = withoutHidden(text);
  if (visible === text) return filtered;
  // Filter the complete text, because the remainder of a secret would not be recognized.
  const ofVisible = filter(visible);
  return ofVisible === visible || ofVisible === withoutHidden(filtered) ? filtered : ofVisible;
}

function withoutHidden(text: string): string {
  const raw = text.replaceAll(hidden, '');
  return raw.includes('\\') ? raw.replaceAll(escapes, (found) => (escapesHidden(found) ? '' : found)) : raw;
}

function escapesHidden(found: string): boolean {
  const backslashes = found.length - found.replace(/^\\+/, '').length;
  const escaped = found.slice(backslashes);
  // After an even number of backslashes, `b` and `f` are plain letters.
  if (escaped === 'b' || escaped === 'f') return backslashes % 2 === 1;
  const units = [...escaped.matchAll(/u([0-9a-fA-F]{4})/g)].map(([, digits = '']) => Number.parseInt(digits, 16));
  return isHidden.test(String.fromCharCode(...units));
}
