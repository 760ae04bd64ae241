/**
 * Escapes control and format characters in untrusted text. A terminal executes control characters. Format characters
 * (such as U+202E) make terminals and browsers reorder or hide text, so that one name can look like another.
 */

/** Format characters (category Cf), and separators that some programs treat as line breaks. */
const format = /[\p{Cf}\u2028\u2029]/gu;
const steeringCharacters = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** The same characters as in `steeringCharacters`, except tabs and line breaks (including those of CSV). */
const steeringInLines = /[\p{Cf}\u2028\u2029]|(?!\t|\r?\n)\p{Cc}/gu;

/** Escapes every control and format character, in the form `\u001b`. */
export function escapeSteering(text: string): string {
  return text.replaceAll(steeringCharacters, escapeUnits);
}

/** Like {@link escapeSteering}, but keeps line breaks and tabs. */
export function escapeSteeringInLines(text: string): string {
  return text.replaceAll(steeringInLines, escapeUnits);
}

/** Escapes every format character, in the form `\u202e`. This does not change the meaning of JSON text. */
export function escapeFormat(text: string): string {
  return text.replaceAll(format, escapeUnits);
}

function escapeUnits(characters: string): string {
  const units = Array.from({ length: characters.length }, (_, index) => characters.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

// Makes filters of secrets independent of hidden characters. A third party could put a hidden character into a token or
// in front of it. The filter would then not find the token, but a reader who copies the text would have it.

/** Format, control and ignorable characters, except those that separate words and lines. */
const hiddenCharacters = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?![\t\n\r])\p{Cc}/gu;
const hiddenCharacter = /^(?:[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]|(?![\t\n\r])\p{Cc})$/u;
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
  const visibleText = removeHidden(text);
  if (visibleText === text) return filtered;
  // Filter the complete text, because the remainder of a secret would not be recognized.
  const filteredText = filter(visibleText);
  return filteredText === visibleText || filteredText === removeHidden(filtered) ? filtered : filteredText;
}

function removeHidden(text: string): string {
  const raw = text.replaceAll(hiddenCharacters, '');
  return raw.includes('\\')
    ? raw.replaceAll(escapes, (escapeText) => (isHiddenEscape(escapeText) ? '' : escapeText))
    : raw;
}

function isHiddenEscape(escapeText: string): boolean {
  const backslashes = escapeText.length - escapeText.replace(/^\\+/, '').length;
  const escapeBody = escapeText.slice(backslashes);
  // After an even number of backslashes, `b` and `f` are plain letters.
  if (escapeBody === 'b' || escapeBody === 'f') return backslashes % 2 === 1;
  const units = [...escapeBody.matchAll(/u([0-9a-fA-F]{4})/g)].map(([, digits = '']) => Number.parseInt(digits, 16));
  return hiddenCharacter.test(String.fromCharCode(...units));
}
