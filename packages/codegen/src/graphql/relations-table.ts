/** The relations between views of schema explore, in the format of docs/reference/graphql-names.md. */
import { exploreEntities, type ViewRelation } from './relations.ts';

/** One line for each view, in the order of their names. */
export function relationsMarkdown(): string {
  const rows = Object.entries(exploreEntities)
    .filter(([, { relations }]) => relations.length > 0)
    .toSorted(([left], [other]) => (left < other ? -1 : 1))
    .map(
      ([view, { relations }]) =>
        `| \`${view}\` | ${relations.map(forwardText).join(', ')} | ${reverseText(relations)} |`,
    );
  return ['| View | Relations | Reverse relations |', '| --- | --- | --- |', ...rows].join('\n');
}

function forwardText({ field, to, mayMiss: missingReason }: ViewRelation): string {
  return `\`${field}\` (${to}${missingReason === undefined ? '' : ', may be missing'})`;
}

function reverseText(relations: readonly ViewRelation[]): string {
  return relations
    .flatMap(({ to, back: reverseField }) => (reverseField === undefined ? [] : [`\`${reverseField}\` of ${to}`]))
    .join(', ');
}
