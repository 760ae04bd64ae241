/** The relations between views of schema explore, in the format of docs/reference/graphql-names.md. */
import { exploreEntities, type Relation } from './relations.ts';

/** One line for each view, in the order of their names. */
export function relationsMarkdown(): string {
  const rows = Object.entries(exploreEntities)
    .filter(([, { relations }]) => relations.length > 0)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([view, { relations }]) => `| \`${view}\` | ${relations.map(forth).join(', ')} | ${backs(relations)} |`);
  return ['| A row of | leads to | and is reached from there as |', '| --- | --- | --- |', ...rows].join('\n');
}

function forth({ field, to, mayMiss }: Relation): string {
  return `\`${field}\` (${to}${mayMiss === undefined ? '' : ', not always there'})`;
}

function backs(relations: readonly Relation[]): string {
  return relations.flatMap(({ to, back }) => (back === undefined ? [] : [`\`${back}\` of ${to}`])).join(', ');
}
