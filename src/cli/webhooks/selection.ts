/** The flags by which `webhook add` selects events, and how `webhook list` and `webhook test` print what is selected. */
import {
  eventTypeProblem,
  isUnselective,
  parseSelection,
  unknownNameText,
} from '../../config/selection/change-selection.ts';
import { partyId, partyIdExpected } from '../../config/party-id.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ChangeSelection } from '../../model/push/changes.ts';
import type { Database } from '../../store/connection/database.ts';
import type { AddedWebhook, ListedWebhook } from '../../store/webhooks/hooks.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';

type SelectedEvents = Pick<AddedWebhook, 'template' | 'party' | 'eventTypes'> & {
  readonly selection: ChangeSelection | null;
};

export const selectionFlags = [
  'template',
  'party',
  'event-type',
  'interface',
  'choice',
  'event',
  'where',
  'allow-unseen',
] as const;

/** @throws IndexerError USAGE */
export function selectedBy(args: Args, usage: string): SelectedEvents {
  const [template, party, eventTypes] = [args.text('template'), args.text('party'), args.texts('event-type')];
  const typeProblem = eventTypeProblem(eventTypes);
  if (typeProblem !== undefined) throw usageError(`--event-type: ${typeProblem}`, usage);
  if (template !== undefined && !/^[^:\s]+:[^:\s]+:[^:\s]+$/.test(template)) {
    throw usageError('--template takes package-name:Module:Entity', usage);
  }
  if (party !== undefined && !partyId.test(party)) throw usageError(`--party takes ${partyIdExpected}`, usage);
  const selection = parseSelection({
    interfaceName: args.text('interface') ?? null,
    choices: args.texts('choice'),
    events: args.texts('event'),
    where: args.text('where') ?? null,
  });
  if (typeof selection === 'string') throw usageError(selection, usage);
  return {
    template: template ?? null,
    party: party ?? null,
    eventTypes,
    selection: isUnselective(selection) ? null : selection,
  };
}

/**
 * Checks the names and the filter of a new webhook.
 * @returns a note for each name that is not known, if such names are allowed
 * @throws IndexerError NAME_UNKNOWN, FILTER_INVALID, FIELD_UNKNOWN
 */
export async function unknownNamesOf(
  database: Database,
  { template, party, selection }: AddedWebhook,
  mayBeUnknown: boolean,
): Promise<readonly string[]> {
  const { unknownNames } = await import('../../store/changes/unknown-names.ts');
  const { checkFilter } = await import('../../store/changes/where-fields.ts');
  const request = { template, party, selection: selection ?? undefined, role: null };
  await checkFilter(database, request);
  const notes = (await unknownNames(database, request)).map(unknownNameText);
  if (notes.length === 0 || mayBeUnknown) return notes;
  throw new IndexerError(notes.join('; '), {
    code: 'NAME_UNKNOWN',
    remedy: 'correct the name, or add --allow-unseen if it will exist later',
  });
}

/** The conditions of a webhook, one text for each. */
export function selectionTexts(webhook: ListedWebhook): readonly string[] {
  const { template, party, eventTypes, interfaceName, choices, tokenEvents, where, until } = webhook;
  const named = {
    template,
    party,
    types: eventTypes,
    interface: interfaceName,
    choices,
    events: tokenEvents,
    where,
    until,
  };
  return Object.entries(named).flatMap(([name, value]) => {
    const text = typeof value === 'string' ? value : (value ?? []).join(', ');
    return text === '' ? [] : [`${name} ${text}`];
  });
}
