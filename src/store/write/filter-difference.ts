/** Compares two filters, as text for operators. */
import type { KeptFilter } from '../../model/stream.ts';

export interface FilterDifference {
  /** The differences, one line each. */
  readonly lines: readonly string[];
  /** Contracts visible only under the new filter are missing from the history so far. */
  readonly adds: boolean;
  /** Contracts visible only under the old filter are no longer followed. */
  readonly removes: boolean;
}

/** @param former filter of the stream row, which may lack parts in an old row */
export function differenceOf(former: Partial<Record<keyof KeptFilter, unknown>>, wanted: KeptFilter): FilterDifference {
  const found = { lines: [] as string[], adds: false, removes: false };
  for (const name of ['parties', 'templates'] as const) {
    compareLists(found, { name, former: textsOf(former[name]), wanted: wanted[name], emptyIsAll: true });
  }
  const [was, is] = [textsOf(former.interfaces), wanted.interfaces];
  compareLists(found, { name: 'interfaces', former: was, wanted: is, emptyIsAll: false });
  for (const name of ['createdEventBlobs', 'topology'] as const) {
    if (former[name] === wanted[name]) continue;
    found.lines.push(`${name}: ${String(former[name])} -> ${String(wanted[name])}`);
    if (wanted[name]) found.adds = true;
    else found.removes = true;
  }
  if (former.shape !== wanted.shape) {
    found.lines.push(`shape: ${String(former.shape)} -> ${wanted.shape}`);
    if (wanted.shape === 'LEDGER_EFFECTS') found.adds = true;
    else found.removes = true;
  }
  return found;
}

interface Lists {
  readonly name: string;
  readonly former: readonly string[];
  readonly wanted: readonly string[];
  readonly emptyIsAll: boolean;
}

function compareLists(
  found: { readonly lines: string[]; adds: boolean; removes: boolean },
  { name, former, wanted, emptyIsAll }: Lists,
): void {
  const more = wanted.filter((one) => !former.includes(one));
  const less = former.filter((one) => !wanted.includes(one));
  if (more.length + less.length === 0) return;
  const all = (list: readonly string[]): boolean => emptyIsAll && list.length === 0;
  if (all(wanted)) {
    found.adds = true;
    found.lines.push(`${name}: ${former.join(', ')} -> all`);
    return;
  }
  if (all(former)) {
    found.removes = true;
    found.lines.push(`${name}: all -> ${wanted.join(', ')}`);
    return;
  }
  if (more.length > 0) found.lines.push(`${name}: also ${more.join(', ')}`);
  if (less.length > 0) found.lines.push(`${name}: no longer ${less.join(', ')}`);
  found.adds ||= more.length > 0;
  found.removes ||= less.length > 0;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
