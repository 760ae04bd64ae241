/** The delay that a server requests of its clients. */

/** Headers of an HTTP response, with names in lower case. */
interface RetryHeaders {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/**
 * The delay in Retry-After, in either form. A date is compared with the server's own clock if the response contains it.
 * Undefined for invalid values, and for statuses other than the two that mean "later".
 */
export function retryAfterSeconds(status: number, headers: RetryHeaders): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d{1,9}$/u.test(text)) return Number(text);
  const dateMs = /^[A-Z][a-z]{2}/u.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(dateMs)) return undefined;
  const sentAt = Date.parse(headers.date ?? '');
  return Math.max(0, Math.ceil((dateMs - (Number.isNaN(sentAt) ? Date.now() : sentAt)) / 1000));
}
