/** Describes the difference between two filters as text for operators. */
import type { KeptFilter } from '../../model/stream.ts';

export interface FilterDifference {
  /** One line for each difference. */
  readonly lines: readonly string[];
  /** Whether contracts that only the new filter returns are missing from the history so far. */
  readonly adds: boolean;
  /** Whether contracts that only the old filter returns are no longer followed. */
  readonly removes: boolean;
}

/** @param previousFilter filter of the stream row; an old row may lack some parts */
export function differenceOf(
  previousFilter: Partial<Record<keyof KeptFilter, unknown>>,
  newFilter: KeptFilter,
): FilterDifference {
  const found = { lines: [] as string[], adds: false, removes: false };
  for (const name of ['parties', 'templates'] as const) {
    compareLists(found, {
      name,
      previousNames: textsOf(previousFilter[name]),
      newNames: newFilter[name],
      emptyIsAll: true,
    });
  }
  const [was, is] = [textsOf(previousFilter.interfaces), newFilter.interfaces];
  compareLists(found, { name: 'interfaces', previousNames: was, newNames: is, emptyIsAll: false });
  for (const name of ['createdEventBlobs', 'topology'] as const) {
    if (previousFilter[name] === newFilter[name]) continue;
    found.lines.push(`${name}: ${String(previousFilter[name])} -> ${String(newFilter[name])}`);
    if (newFilter[name]) found.adds = true;
    else found.removes = true;
  }
  if (previousFilter.shape !== newFilter.shape) {
    found.lines.push(`shape: ${String(previousFilter.shape)} -> ${newFilter.shape}`);
    if (newFilter.shape === 'LEDGER_EFFECTS') found.adds = true;
    else found.removes = true;
  }
  return found;
}

interface Lists {
  readonly name: string;
  readonly previousNames: readonly string[];
  readonly newNames: readonly string[];
  readonly emptyIsAll: boolean;
}

function compareLists(
  found: { readonly lines: string[]; adds: boolean; removes: boolean },
  { name, previousNames, newNames, emptyIsAll }: Lists,
): void {
  const more = newNames.filter((one) => !previousNames.includes(one));
  const less = previousNames.filter((one) => !newNames.includes(one));
  if (more.length + less.length === 0) return;
  const all = (list: readonly string[]): boolean => emptyIsAll && list.length === 0;
  if (all(newNames)) {
    found.adds = true;
    found.lines.push(`${name}: ${previousNames.join(', ')} -> all`);
    return;
  }
  if (all(previousNames)) {
    found.removes = true;
    found.lines.push(`${name}: all -> ${newNames.join(', ')}`);
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
