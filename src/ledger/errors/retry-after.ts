/** The time at which a sender wants its clients to come back. */

/** Of an HTTP response, names in lower case. */
interface RetryHeaders {
  readonly 'retry-after'?: string | undefined;
  readonly date?: string | undefined;
}

/**
 * The delay in Retry-After, in either form; a date is compared with the sender's own clock if the response contains it.
 * Undefined for other statuses than the two that mean "later", and for invalid values.
 */
export function retryAfterSeconds(status: number, headers: RetryHeaders): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d{1,9}$/u.test(text)) return Number(text);
  const at = /^[A-Z][a-z]{2}/u.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const sentAt = Date.parse(headers.date ?? '');
  return Math.max(0, Math.ceil((at - (Number.isNaN(sentAt) ? Date.now() : sentAt)) / 1000));
}
