/** A position in history, as given on a command line. */

/** An offset, or a time with a time zone. */
export type HistoryBound = { readonly offset: number } | { readonly time: string };

/**
 * A time needs a time zone, because otherwise its meaning would depend on the machine. A date without a time is in UTC.
 */
const timeForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** @returns undefined if the text is neither an offset nor a time */
export function historyBound(text: string): HistoryBound | undefined {
  if (/^\d{1,15}$/.test(text)) return { offset: Number(text) };
  if (!timeForm.test(text) || Number.isNaN(Date.parse(text))) return undefined;
  return { time: text.includes('T') ? text : `${text}T00:00:00Z` };
}
