/** Formats the result of `compare-pqs` for people. */
import { aligned } from '../command-line/aligned.ts';
import { visible } from '../command-line/output.ts';
import type { ComparedPqs, PqsDifference } from './pqs-comparison.ts';

/** The result, then the differences, then the names that only one side has. */
export function pqsReport(compared: ComparedPqs): readonly string[] {
  const { at, events, rows, updates, differences, onlyPqs, onlyIndexer } = compared;
  const verdict = differences.length + onlyPqs.length === 0 ? 'equal' : 'different';
  const facts = aligned([
    ['active contracts', `at offset ${String(at)}`],
    ['events', events === undefined ? 'none in common' : `offsets ${String(events.from)} to ${String(events.to)}`],
    ['rows counted', `${String(rows.pqs)} in the PQS, ${String(rows.indexer)} here`],
    ['updates recognized', String(updates)],
  ]);
  return [
    `${verdict}: ${sentence(compared)}`,
    ...facts.map((line) => `  ${line}`),
    ...differences.flatMap(linesOf),
    ...listed('only in the PQS (omitted by the filter or shape of this database):', onlyPqs),
    ...listed('only here (not a difference):', onlyIndexer),
  ].map(visible);
}

function sentence({ differences, onlyPqs }: ComparedPqs): string {
  if (differences.length + onlyPqs.length === 0) return 'this database has everything that the PQS has';
  return `${String(differences.length)} counts differ, ${String(onlyPqs.length)} names are only in the PQS`;
}

const titles = {
  active: 'active contracts',
  creates: 'creates',
  archives: 'archives',
  exercises: 'exercises',
  updates: 'update ids',
} as const;

function linesOf(difference: PqsDifference): readonly string[] {
  const { kind, name, type, choice, from, to, pqs, indexer, missing, extra } = difference;
  const of = kind === 'updates' ? '' : ` of ${kind === 'exercises' ? `${choice} on ${name}` : `${type} ${name}`}`;
  const where = from === to ? `at offset ${String(from)}` : `offsets ${String(from)} to ${String(to)}`;
  return [
    `${titles[kind]}${of}, ${where}: ${String(pqs)} in the PQS, ${String(indexer)} here`,
    ...listed(`  only in the PQS (${String(missing)}):`, difference.firstMissing),
    ...listed(`  only here (${String(extra)}):`, difference.firstExtra),
  ];
}

function listed(title: string, names: readonly string[]): readonly string[] {
  const indent = ' '.repeat(title.length - title.trimStart().length + 2);
  return names.length === 0 ? [] : [title, ...names.map((name) => `${indent}${name}`)];
}
