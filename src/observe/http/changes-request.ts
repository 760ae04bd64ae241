/** Parses the parameters of `/changes`. */
import {
  eventTypeProblem,
  isUnselective,
  parseSelection,
  parseUntil,
  untilExpected,
} from '../../config/selection/change-selection.ts';
import { partyId, partyIdExpected } from '../../config/party-id.ts';
import {
  maxNodeId,
  parseCursor,
  type ChangeCursor,
  type ChangeSelection,
  type Until,
} from '../../model/push/changes.ts';
import type { StreamRequest } from '../changes/change-stream.ts';

const repeatable = ['event_type', 'choice', 'event'] as const;
const single = ['template', 'interface', 'party', 'where', 'projection', 'after', 'until', 'unseen'] as const;
const parameterNames: readonly string[] = [...single, ...repeatable];
const longestValue = 1_000;
const longestFilter = 2_000;

export type ParsedRequest = Omit<StreamRequest, 'role' | 'rights' | 'reader'> & {
  /** Whether the position is the id of an event that was sent. */
  readonly isResumed: boolean;
  /** Whether names may be unknown. */
  readonly mayBeUnknown: boolean;
};

/**
 * Parses the request. The header takes precedence, because a browser that reconnects adds it.
 * @returns an error message if the request is invalid
 */
export function parseChangesRequest(
  query: URLSearchParams,
  lastEventId: string | string[] | undefined,
): ParsedRequest | string {
  const problem = parameterProblem(query);
  if (problem !== undefined) return problem;
  const [template, party, projection] = [query.get('template'), query.get('party'), query.get('projection')];
  const eventTypes = query.getAll('event_type');
  const selection = selectionOf(query);
  if (typeof selection === 'string') return selection;
  const until = untilOf(query);
  if (typeof until === 'string') return until;
  if (projection !== null && [...query.keys()].some((name) => !['projection', 'after', 'unseen'].includes(name))) {
    return 'projection cannot be combined with other conditions: filter its rows in its SELECT';
  }
  const position = positionOf(query, lastEventId, projection);
  if (typeof position === 'string') return position;
  const mayBeUnknown = query.get('unseen') !== null;
  return { template, party, eventTypes, projection, selection, until, mayBeUnknown, ...position };
}

function parameterProblem(query: URLSearchParams): string | undefined {
  for (const name of query.keys()) {
    const [isRepeatable, most] = [
      repeatable.some((other) => other === name),
      name === 'where' ? longestFilter : longestValue,
    ];
    if (!parameterNames.includes(name)) {
      return `unknown parameter "${name.slice(0, 40)}"; known: ${parameterNames.join(', ')}`;
    }
    if (!isRepeatable && query.getAll(name).length > 1) return `${name} is given more than once`;
    if (query.getAll(name).some((value) => value === '' || value.length > most || value.includes('\0'))) {
      return `${name} must have 1 to ${String(most)} characters`;
    }
  }
  const [template, party, unseen] = [query.get('template'), query.get('party'), query.get('unseen')];
  // A name without package and module never matches.
  if (template !== null && !/^[^:]+:[^:]+:[^:]+$/.test(template)) {
    return 'template must be package-name:Module:Entity, such as splice-amulet:Splice.Amulet:Amulet';
  }
  if (party !== null && !partyId.test(party)) return `party must be ${partyIdExpected}`;
  if (unseen !== null && unseen !== 'allow') return 'unseen must be allow';
  return eventTypeProblem(query.getAll('event_type'));
}

/** Undefined if nothing is selected, so that all such clients share their pages. */
function selectionOf(query: URLSearchParams): ChangeSelection | string | undefined {
  const selection = parseSelection({
    interfaceName: query.get('interface'),
    choices: query.getAll('choice'),
    events: query.getAll('event'),
    where: query.get('where'),
  });
  return typeof selection !== 'string' && isUnselective(selection) ? undefined : selection;
}

function untilOf(query: URLSearchParams): Until | string | undefined {
  const text = query.get('until');
  return text === null ? undefined : (parseUntil(text) ?? `until must be ${untilExpected}`);
}

function positionOf(
  query: URLSearchParams,
  lastEventId: string | string[] | undefined,
  projection: string | null,
): { readonly after: ChangeCursor | undefined; readonly isResumed: boolean } | string {
  const isResumed = typeof lastEventId === 'string' && lastEventId !== '';
  const from = isResumed ? lastEventId : query.get('after');
  const after = from === null ? undefined : parseCursor(from);
  if (from !== null && (after === undefined || (after.version !== undefined && projection === null))) {
    return `after and Last-Event-ID must be an offset or the id of an event: 42 or 42-${String(maxNodeId)}`;
  }
  return { after, isResumed };
}
