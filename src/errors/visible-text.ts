/**
 * Texts of others, for people to read. A terminal obeys control characters, and terminals and browsers show what stands
 * between format characters in another order (U+202E), or nothing of it: a name could look like another one.
 */

/** Format characters (Cf), and separators that break a line for some. */
const format = /[\p{Cf}\u2028\u2029]/gu;
const steering = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** The same but for tabs and line breaks, also those of CSV. */
const steeringLines = /[\p{Cf}\u2028\u2029]|(?!\t|\r?\n)\p{Cc}/gu;

/** With every control and format character as `\u001b`. */
export function escapeSteering(text: string): string {
  return text.replaceAll(steering, escaped);
}

/** The same, with its line breaks and tabs. */
export function escapeSteeringInLines(text: string): string {
  return text.replaceAll(steeringLines, escaped);
}

/** With every format character as `\u202e`: in the text of JSON it means the same. */
export function escapeFormat(text: string): string {
  return text.replaceAll(format, escaped);
}

function escaped(found: string): string {
  const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

// Filters of secrets, made independent of hidden characters. A stranger who puts one into a token, or before it, would have a filter
// find nothing, and whoever copies the text would have the token.

/** Format, control and ignorable characters, but for those that part words and lines. */
const hidden = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?![\t\n\r])\p{Cc}/gu;
const isHidden = /^(?:[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?![\t\n\r])\p{Cc})$/u;
/**
 * Backslashes, with what they escape: `\u202e` in JSON, `\\u202e` where an escaped text was put into JSON, a pair of surrogates of the only
 * plane that is hidden. The pattern takes a whole run of backslashes and always matches, so its time is linear.
 */
const escapes = /\\+(?:u[dD][bB]4[0-3]\\+u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[bf])?/g;

/** The text after the filter. If hidden characters kept the filter from a secret, or from a part of it, the text comes without these. */
export function filterHidden(text: string, filter: (text: string) => string): string {
  const filtered = filter(text);
  const visible = withoutHidden(text);
  if (visible === text) return filtered;
  // Before anything is taken out: what is left of a secret is not recognized as one.
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
  // Behind an even number of backslashes these two are letters.
  if (escaped === 'b' || escaped === 'f') return backslashes % 2 === 1;
  const units = [...escaped.matchAll(/u([0-9a-fA-F]{4})/g)].map(([, digits = '']) => Number.parseInt(digits, 16));
  return isHidden.test(String.fromCharCode(...units));
}
