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
