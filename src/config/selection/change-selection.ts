/** Parses which changes a client selects. Used by `/changes` and by `webhook add`. */
import { nearestNames } from '../../errors/nearest-names.ts';
import { eventTypes, tokenEvents, type TokenEvent } from './event-names.ts';

const groups = ['transfer.*', 'allocation.*', 'holding.*', '*'] as const;
const eventNames = [...tokenEvents, ...groups];

/** `package-name:Module:Entity`. A name without package and module never matches. */
const qualifiedName = /^[^:\s]+:[^:\s]+:[^:\s]+$/;
const choiceName = /^[A-Za-z][\w$]*$/;

/** The selection as it was written. */
export interface SelectionText {
  readonly interfaceName: string | null;
  readonly choices: readonly string[];
  /** Token events, or groups such as `transfer.*`. */
  readonly events: readonly string[];
  readonly where: string | null;
}

/** The selection as the text expresses it. */
export type ParsedSelection = Omit<SelectionText, 'events'> & { readonly tokenEvents: readonly TokenEvent[] };

/** @returns a message if the text is invalid */
export function parseSelection({ events, ...rest }: SelectionText): ParsedSelection | string {
  const { interfaceName, choices } = rest;
  if (interfaceName !== null && !qualifiedName.test(interfaceName)) {
    return 'interface must be package-name:Module:Interface, such as splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';
  }
  const invalidChoice = choices.find((choice) => !choiceName.test(choice));
  if (invalidChoice !== undefined) return 'choice must be the name of a choice, such as TransferInstruction_Accept';
  const selectedEvents = selectTokenEvents(events);
  return typeof selectedEvents === 'string' ? selectedEvents : { ...rest, tokenEvents: selectedEvents };
}

type AnySelection = Omit<ParsedSelection, 'tokenEvents'> & { readonly tokenEvents: readonly string[] };

/** Whether the selection excludes no change. */
export function isUnselective({ interfaceName, choices, tokenEvents: events, where }: AnySelection): boolean {
  return interfaceName === null && choices.length === 0 && events.length === 0 && where === null;
}

/** The token events that the names select, in order. @returns a message if a name is unknown */
function selectTokenEvents(names: readonly string[]): readonly TokenEvent[] | string {
  const unknown = names.find((name) => !(eventNames as readonly string[]).includes(name));
  if (unknown !== undefined) return unknownText('event', unknown, eventNames);
  return tokenEvents.filter((event) =>
    names.some((name) => name === event || (name.endsWith('*') && event.startsWith(name.slice(0, -1)))),
  );
}

/** A message if a kind of changes does not exist. */
export function eventTypeProblem(names: readonly string[]): string | undefined {
  const unknown = names.find((name) => !(eventTypes as readonly string[]).includes(name));
  if (unknown === undefined) return undefined;
  return (eventNames as readonly string[]).includes(unknown)
    ? `"${unknown}" is a token event and not an event type: use event instead`
    : unknownText('event type', unknown, eventTypes);
}

function unknownText(kind: string, name: string, known: readonly string[]): string {
  const nearest = nearestNames(name, known);
  const suggestion = nearest.length > 0 ? `did you mean ${nearest.join(' or ')}?` : `known: ${known.join(', ')}`;
  return `there is no ${kind} "${name.slice(0, 60)}"; ${suggestion}`;
}

/** An offset, or a time in UTC. Undefined for any other text. */
export function parseUntil(text: string): { readonly offset: number } | { readonly time: string } | undefined {
  if (/^\d{1,15}$/.test(text)) return { offset: Number(text) };
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z$/.test(text);
  return isTime && !Number.isNaN(Date.parse(text)) ? { time: text } : undefined;
}

/** Text after "until must be …". */
export const untilExpected = 'an offset, or a time in UTC such as 2026-01-31T12:00:00Z';

/** A part of a selection whose name no stored row and no stored package has, as far as the reader may see. */
export interface UnknownName {
  readonly parameter: 'template' | 'interface' | 'choice' | 'party';
  readonly name: string;
  /** Whether the name of the template is that of an interface, or the reverse. */
  readonly isOfOtherKind: boolean;
  readonly nearest: readonly string[];
}

/** A message about a name that is not known, with the nearest names. */
export function unknownNameText({ parameter, name, isOfOtherKind, nearest }: UnknownName): string {
  const suggestion = nearest.length === 0 ? '' : `; did you mean ${nearest.join(' or ')}?`;
  if (!isOfOtherKind) return `no ${parameter} ${name} is known${suggestion}`;
  const [expected, found] = parameter === 'template' ? ['template', 'interface'] : ['interface', 'template'];
  return `${name} is of kind ${found}, expected ${expected}: select it as ${found}${suggestion}`;
}
