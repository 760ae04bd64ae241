/** Formats amounts for people. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size such as `1.5 GiB`. */
export function formatBytes(count: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step] ?? ''}`;
}

/** A number such as `1,234,567`, without a fraction. */
export function formatInteger(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
