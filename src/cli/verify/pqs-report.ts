/** Formats the result of `compare-pqs` for people. */
import { aligned } from '../command-line/aligned.ts';
import { visible } from '../command-line/output.ts';
import type { PqsComparison, PqsDifference } from './pqs-comparison.ts';

/** The result, then the differences, then the names that only one side has. */
export function pqsReport(comparison: PqsComparison): readonly string[] {
  const {
    at: offset,
    events,
    rows,
    updates,
    differences,
    onlyPqs: missingFromIndexer,
    onlyIndexer: missingFromPqs,
  } = comparison;
  const outcome = differences.length + missingFromIndexer.length === 0 ? 'equal' : 'different';
  const facts = aligned([
    ['active contracts', `at offset ${String(offset)}`],
    ['events', events === undefined ? 'none in common' : `offsets ${String(events.from)} to ${String(events.to)}`],
    ['rows counted', `${String(rows.pqs)} in the PQS, ${String(rows.indexer)} here`],
    ['updates recognized', String(updates)],
  ]);
  return [
    `${outcome}: ${summarySentence(comparison)}`,
    ...facts.map((line) => `  ${line}`),
    ...differences.flatMap(linesOf),
    ...titledList('only in the PQS (omitted by the filter or shape of this database):', missingFromIndexer),
    ...titledList('only here (not a difference):', missingFromPqs),
  ].map(visible);
}

function summarySentence({ differences, onlyPqs: missingFromIndexer }: PqsComparison): string {
  if (differences.length + missingFromIndexer.length === 0) return 'this database has everything that the PQS has';
  return `${String(differences.length)} counts differ, ${String(missingFromIndexer.length)} names are only in the PQS`;
}

const titles = {
  active: 'active contracts',
  creates: 'creates',
  archives: 'archives',
  exercises: 'exercises',
  updates: 'update ids',
} as const;

function linesOf(difference: PqsDifference): readonly string[] {
  const { kind, name, type, choice, from, to, pqs, indexer, missing: missingCount, extra: extraCount } = difference;
  const subjectText =
    kind === 'updates' ? '' : ` of ${kind === 'exercises' ? `${choice} on ${name}` : `${type} ${name}`}`;
  const rangeText = from === to ? `at offset ${String(from)}` : `offsets ${String(from)} to ${String(to)}`;
  return [
    `${titles[kind]}${subjectText}, ${rangeText}: ${String(pqs)} in the PQS, ${String(indexer)} here`,
    ...titledList(`  only in the PQS (${String(missingCount)}):`, difference.firstMissing),
    ...titledList(`  only here (${String(extraCount)}):`, difference.firstExtra),
  ];
}

function titledList(title: string, names: readonly string[]): readonly string[] {
  const indent = ' '.repeat(title.length - title.trimStart().length + 2);
  return names.length === 0 ? [] : [title, ...names.map((name) => `${indent}${name}`)];
}
