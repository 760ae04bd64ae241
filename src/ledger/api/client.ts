/**
 * Client for one participant: the typed calls of the JSON Ledger API, grouped by area, over one transport. Each call
 * documents its request and response at its declaration in this folder. Streams are in `../transport/frame-stream.ts`.
 */
import { rejectRemovedCalls } from './deprecated-calls.ts';
import { readRelease } from './release.ts';
import { commandCalls, type CommandCalls } from './commands.ts';
import { completionCalls, type CompletionCalls } from './completions.ts';
import { eventCalls, type EventCalls } from './events.ts';
import { interactiveCalls, type InteractiveCalls } from './interactive.ts';
import { nodeCalls, type NodeCalls } from './node.ts';
import { packageCalls, type PackageCalls } from './packages.ts';
import { partyCalls, type PartyCalls } from './parties.ts';
import { stateCalls, type StateCalls } from './state.ts';
import { updateCalls, type UpdateCalls } from './updates.ts';
import { userCalls, type UserCalls } from './users.ts';
import { createTransport, type Transport, type TransportOptions } from '../transport/transport.ts';

export interface LedgerClient {
  readonly node: NodeCalls;
  readonly packages: PackageCalls;
  readonly commands: CommandCalls;
  readonly completions: CompletionCalls;
  readonly state: StateCalls;
  readonly updates: UpdateCalls;
  readonly events: EventCalls;
  readonly parties: PartyCalls;
  readonly users: UserCalls;
  readonly interactive: InteractiveCalls;
  /** For requests without a typed call. */
  readonly transport: Transport;
}

/**
 * Creates a client for one participant. The client itself keeps no connection. The token is read again for every call.
 */
export function createLedgerClient(options: TransportOptions): LedgerClient {
  const baseTransport = createTransport(options);
  const node = nodeCalls(baseTransport);
  const transport = rejectRemovedCalls(baseTransport, () => readRelease({ node }));
  return {
    node,
    packages: packageCalls(transport),
    commands: commandCalls(transport),
    completions: completionCalls(transport),
    state: stateCalls(transport),
    updates: updateCalls(transport),
    events: eventCalls(transport),
    parties: partyCalls(transport),
    users: userCalls(transport),
    interactive: interactiveCalls(transport),
    transport: baseTransport,
  };
}
