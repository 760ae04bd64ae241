/** Formats values in a unit as Grafana does. Pure. */

const seconds = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'min'],
  [1, 's'],
  [1e-3, 'ms'],
  [1e-6, 'µs'],
] as const;
const rates: Readonly<Record<string, string>> = { ops: ' ops/s', wps: ' wr/s', reqps: ' req/s' };

/** Formats a value. @param decimals number of decimals; if undefined, it depends on the magnitude */
export function formatted(value: number | null, unit: string, decimals?: number): string {
  if (value === null || Number.isNaN(value)) return '';
  switch (unit) {
    case 's':
      return inSeconds(value, decimals);
    case 'percentunit':
      return `${digits(value * 100, decimals)}%`;
    case 'percent':
      return `${digits(value, decimals)}%`;
    case 'bytes':
      return scaleValue(value, 1024, ['B', 'KiB', 'MiB', 'GiB'], decimals);
    case 'Bps':
      return scaleValue(value, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s'], decimals);
    case 'locale':
      return value.toLocaleString('en-US', { maximumFractionDigits: decimals ?? 2 });
    case 'short':
      return scaleValue(value, 1000, ['', 'K', 'Mil', 'Bil'], decimals).trim();
    case 'dateTimeAsIso':
      return new Date(value).toISOString().slice(0, 19).replace('T', ' ');
    default:
      return `${digits(value, decimals)}${rates[unit] ?? ''}`;
  }
}

function inSeconds(value: number, decimals: number | undefined): string {
  if (value === 0) return '0 s';
  const [size, name] = seconds.find(([unitSize]) => Math.abs(value) >= unitSize) ?? ([1e-6, 'µs'] as const);
  const text = digits(value / size, decimals);
  return `${text} ${['day', 'hour'].includes(name) && text !== '1' ? `${name}s` : name}`;
}

function scaleValue(value: number, base: number, names: readonly string[], decimals: number | undefined): string {
  const power = value === 0 ? 0 : Math.floor(Math.log(Math.abs(value)) / Math.log(base));
  const unitIndex = Math.min(Math.max(power, 0), names.length - 1);
  return `${digits(value / base ** unitIndex, decimals)} ${names[unitIndex] ?? ''}`;
}

function digits(value: number, decimals: number | undefined): string {
  const size = Math.abs(value);
  const decimalPlaces = decimals ?? (Number.isInteger(value) || size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
  const text = value.toFixed(decimalPlaces);
  return decimals === undefined && text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
