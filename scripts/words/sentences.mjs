/** Finds sentences that are too long. */

const mostWords = 30;

/** Sentences of paragraphs over the limit; tables and headings are not counted. @param {{ line: number, text: string }[]} prose */
export function longSentences(prose) {
  return paragraphs(prose)
    .flatMap((paragraph) => paragraph.split(/(?<=[.!?])\s+(?=[A-Z`"(])/))
    .filter((sentence) => (sentence.match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? []).length > mostWords);
}

/** @param {{ line: number, text: string }[]} prose */
function paragraphs(prose) {
  /** @type {string[]} */
  const found = [];
  let current = '';
  for (const { text } of prose) {
    const ends = text.trim() === '' || /^\s*(\||#|[-*] |\d+\. )/.test(text);
    if (ends && current !== '') found.push(current);
    if (ends) current = '';
    if (text.trim() !== '' && !/^\s*[|#]/.test(text)) current += ` ${text.trim()}`;
  }
  return current === '' ? found : [...found, current];
}
