/** Describes the difference between two filters as text for operators. */
import type { StoredFilterSpec } from '../../model/stream.ts';

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
  previousFilter: Partial<Record<keyof StoredFilterSpec, unknown>>,
  newFilter: StoredFilterSpec,
): FilterDifference {
  const difference = { lines: [] as string[], adds: false, removes: false };
  for (const name of ['parties', 'templates'] as const) {
    compareLists(difference, {
      name,
      previousNames: textsOf(previousFilter[name]),
      newNames: newFilter[name],
      emptyIsAll: true,
    });
  }
  const [previousIds, newIds] = [textsOf(previousFilter.interfaces), newFilter.interfaces];
  compareLists(difference, { name: 'interfaces', previousNames: previousIds, newNames: newIds, emptyIsAll: false });
  for (const name of ['createdEventBlobs', 'topology'] as const) {
    if (previousFilter[name] === newFilter[name]) continue;
    difference.lines.push(`${name}: ${String(previousFilter[name])} -> ${String(newFilter[name])}`);
    if (newFilter[name]) difference.adds = true;
    else difference.removes = true;
  }
  if (previousFilter.shape !== newFilter.shape) {
    difference.lines.push(`shape: ${String(previousFilter.shape)} -> ${newFilter.shape}`);
    if (newFilter.shape === 'LEDGER_EFFECTS') difference.adds = true;
    else difference.removes = true;
  }
  return difference;
}

interface NameListChange {
  readonly name: string;
  readonly previousNames: readonly string[];
  readonly newNames: readonly string[];
  readonly emptyIsAll: boolean;
}

function compareLists(
  difference: { readonly lines: string[]; adds: boolean; removes: boolean },
  { name, previousNames, newNames, emptyIsAll: isEmptyAll }: NameListChange,
): void {
  const addedNames = newNames.filter((newName) => !previousNames.includes(newName));
  const removedNames = previousNames.filter((previousName) => !newNames.includes(previousName));
  if (addedNames.length + removedNames.length === 0) return;
  const coversAll = (list: readonly string[]): boolean => isEmptyAll && list.length === 0;
  if (coversAll(newNames)) {
    difference.adds = true;
    difference.lines.push(`${name}: ${previousNames.join(', ')} -> all`);
    return;
  }
  if (coversAll(previousNames)) {
    difference.removes = true;
    difference.lines.push(`${name}: all -> ${newNames.join(', ')}`);
    return;
  }
  if (addedNames.length > 0) difference.lines.push(`${name}: also ${addedNames.join(', ')}`);
  if (removedNames.length > 0) difference.lines.push(`${name}: no longer ${removedNames.join(', ')}`);
  difference.adds ||= addedNames.length > 0;
  difference.removes ||= removedNames.length > 0;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : [];
}
