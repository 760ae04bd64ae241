/**
 * One log line for people: time, level, message, a failure in words, then the remaining fields as `name=value`. Pure and
 * synchronous.
 */
const colours: Readonly<Record<string, string>> = { warn: '33', error: '31', fatal: '31', debug: '90', trace: '90' };

/** Turns a JSON log line into text; a line that is no JSON object is passed on as it is. */
export function prettyLine(line: string, coloured: boolean): string {
  const record = parseRecord(line);
  if (record === undefined) return `${escaped(line.replace(/\n$/, ''))}\n`;
  const { level, time, msg, err, ...others } = record;
  const failure = failureIn(err);
  const fields = failure === undefined && err !== undefined ? { ...others, err } : others;
  const paint = (code: string | undefined, text: string): string =>
    coloured && code !== undefined ? `\u001B[${code}m${text}\u001B[0m` : text;
  const name = typeof level === 'string' ? level : 'info';
  const clock = typeof time === 'string' ? escaped(time.slice(11, 19)) : '';
  const rest = Object.entries(fields).map(([key, value]) => paint('90', `${escaped(key)}=`) + escaped(shown(value)));
  const parts = [paint('90', clock), paint(colours[name] ?? '32', escaped(name).toUpperCase().padEnd(5))];
  if (typeof msg === 'string') parts.push(escaped(failure === undefined ? msg : `${msg}: ${failure}`));
  return `${[...parts, ...rest].join('  ')}\n`;
}

/** A serialized error with a code as one sentence; undefined for anything else. */
function failureIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('message' in value)) return undefined;
  const { code, message } = value;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const remedy = 'remedy' in value && typeof value.remedy === 'string' ? `; what to do: ${value.remedy}` : '';
  return `${code}: ${message}${remedy}`;
}

/** What a terminal would obey, or show in another order than it stands: a name from the ledger must not move the cursor. */
const unprintable = /[\p{Cc}\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

function escaped(text: string): string {
  return text.replaceAll(unprintable, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
