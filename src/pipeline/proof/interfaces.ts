/**
 * Chooses the interfaces that the stream requests: of the configured ones, those that the participant knows. A request
 * that names an unknown interface is refused completely. Interfaces that the participant learns later are backfilled.
 */
import { interfacesNamed } from '../../config/interface-presets.ts';
import { findKnownInterfaces } from '../../ledger/api/known-interfaces.ts';
import type { RequestedInterface } from '../../model/stream.ts';
import type { PipelineParts } from '../ports/parts.ts';
import type { WriterSession } from '../ports/sink.ts';

/**
 * The interfaces of this session, by id; stores the configured ones. A new stream begins with those that the
 * participant knows now; an existing stream keeps its own.
 * `isInterfaceRefused`: the participant has refused one of them. Interfaces that it does not know are then omitted.
 */
export async function interfacesInForce(
  parts: PipelineParts,
  session: WriterSession,
  { ledgerEnd, isInterfaceRefused }: { readonly ledgerEnd: number; readonly isInterfaceRefused: boolean },
): Promise<readonly RequestedInterface[]> {
  const ids = interfacesNamed(parts.wantedInterfaces);
  const storedById = new Map(session.interfaces.map((requested) => [requested.id, requested]));
  if (ids.length + storedById.size === 0) return [];
  const isNew = !session.state.seeded && storedById.size === 0;
  const previous = ids.map((id) => storedById.get(id) ?? waitingInterface(id));
  const current =
    isNew || isInterfaceRefused
      ? withUpdatedStates(previous, await findKnownInterfaces(parts.ledger, parts.filter, ids, ledgerEnd), {
          ledgerEnd,
          isNew,
        })
      : previous;
  if (current.length !== storedById.size || current.some((requested) => !isStored(requested, storedById))) {
    await session.noteInterfaces(current);
  }
  parts.observers.interfaces.interfacesRequested(current);
  return current;
}

function waitingInterface(id: string): RequestedInterface {
  return { id, state: 'waiting', completeFrom: null, unknownAt: null };
}

function isStored(requested: RequestedInterface, storedById: ReadonlyMap<string, RequestedInterface>): boolean {
  const { state, completeFrom, unknownAt } = storedById.get(requested.id) ?? {};
  return state === requested.state && completeFrom === requested.completeFrom && unknownAt === requested.unknownAt;
}

/**
 * The interfaces with states updated from the ids that the participant knows.
 * @param isNew whether the stream begins with them
 */
export function withUpdatedStates(
  interfaces: readonly RequestedInterface[],
  knownIds: readonly string[],
  { ledgerEnd, isNew }: { readonly ledgerEnd: number; readonly isNew: boolean },
): readonly RequestedInterface[] {
  return interfaces.map((requested) => {
    if (!knownIds.includes(requested.id)) return { ...requested, state: 'waiting', unknownAt: ledgerEnd };
    if (isNew) return { ...requested, state: 'followed', completeFrom: 0 };
    return requested.state === 'followed' ? requested : { ...requested, state: 'backfilling' };
  });
}

/** The same parts, with requests for views of these interfaces. */
export function withInterfaces(parts: PipelineParts, interfaces: readonly string[]): PipelineParts {
  return { ...parts, filter: { ...parts.filter, interfaces } };
}
