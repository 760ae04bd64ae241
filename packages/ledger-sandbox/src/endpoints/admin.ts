/**
 * The sandbox's own endpoints, off by default, with which a shell controls scripted faults and ledger actions. No
 * participant has them. They take no token, serve only this machine and are not subject to faults.
 */
import type { IncomingMessage } from 'node:http';
import { SandboxError } from '../wire/sandbox-error.ts';
import { check, checkNames, faultsOf, type Shape } from '../faults/admin-shapes.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { UndecodableRequest } from '../wire/failure.ts';
import { asObject, asText, type JsonObject } from '../wire/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { authorize } from '../ledger/reassignments.ts';
import type { UpdateInput } from '../wire/wire.ts';
import { isIPv4 } from 'node:net';

interface Act {
  readonly shape: Shape;
  run(ledger: Ledger, args: JsonObject): void;
}

const count = (args: JsonObject, name: string): number => Number(args[name]);

/** Ends the hosting of a party on the participant, or begins it: on one synchronizer, or on all. */
function moveParty(ledger: Ledger, args: JsonObject, isHosted: boolean): void {
  const synchronizerId = asText(args['synchronizerId']);
  for (const { id } of ledger.synchronizers) {
    if (synchronizerId === '' || synchronizerId === id)
      authorize(ledger, asText(args['party']), isHosted, undefined, { synchronizerId: id });
  }
}

const actionsByName: Readonly<Record<string, Act>> = {
  prune: { shape: { needs: { to: 'count' } }, run: (ledger, args) => ledger.pruneTo(count(args, 'to')) },
  reset: { shape: { flag: true }, run: (ledger) => ledger.reset() },
  skipOffsets: {
    shape: { needs: { count: 'count' } },
    run: (ledger, args) => ledger.skipOffsets(count(args, 'count')),
  },
  restore: { shape: { needs: { to: 'count' } }, run: (ledger, args) => ledger.restore(count(args, 'to')) },
  rewriteAfter: {
    shape: { needs: { offset: 'count' } },
    run: (ledger, args) => ledger.rewriteAfter(count(args, 'offset')),
  },
  lagBehind: {
    shape: { needs: { offsets: 'count' } },
    run: (ledger, args) => ledger.lagBehind(count(args, 'offsets')),
  },
  lagSynchronizer: {
    shape: { needs: { synchronizerId: 'text', micros: 'count' } },
    run: (ledger, args) => ledger.lagSynchronizer(asText(args['synchronizerId']), count(args, 'micros')),
  },
  participantId: {
    shape: { needs: { id: 'text' } },
    run: (ledger, args) => {
      ledger.participantId = asText(args['id']);
    },
  },
  leave: {
    shape: { needs: { party: 'text' }, takes: { synchronizerId: 'text' } },
    run: (ledger, args) => moveParty(ledger, args, false),
  },
  join: {
    shape: { needs: { party: 'text' }, takes: { synchronizerId: 'text' } },
    run: (ledger, args) => moveParty(ledger, args, true),
  },
  append: {
    shape: { needs: { update: 'object' } },
    run: (ledger, args) => ledger.append(args['update'] as unknown as UpdateInput),
  },
  appendRaw: {
    shape: { needs: { frame: 'object' } },
    run: (ledger, args) => ledger.appendRaw(asObject(args['frame']) ?? {}),
  },
};

function runActs({ participant, body }: Call): string {
  const { ledger } = participant;
  checkNames(body, actionsByName, 'act');
  const requestedActs = Object.entries(body).map(([name, argument]) => ({
    name,
    given: argument,
    act: actionsByName[name],
  }));
  for (const { name, given: argument, act: action } of requestedActs)
    if (action !== undefined) check(argument, action.shape, `act ${name}`);
  try {
    for (const { given: argument, act: action } of requestedActs) action?.run(ledger, asObject(argument) ?? {});
  } catch (error) {
    if (error instanceof SandboxError) throw new UndecodableRequest('body', error.message);
    throw error;
  }
  const { participantId, synchronizers } = ledger;
  return JSON.stringify({ ledgerEnd: ledger.ledgerEnd(), prunedTo: ledger.prunedTo(), participantId, synchronizers });
}

function setFaults({ participant, body }: Call): string {
  return JSON.stringify(Object.assign(participant.faults, faultsOf(body)));
}

export const adminEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/sandbox/faults',
    summary: 'The faults in force',
    needs: 'none',
    run: ({ participant }) => JSON.stringify(participant.faults),
  },
  {
    method: 'POST',
    path: '/sandbox/faults',
    summary: 'Set the named faults, remove those that are null; the others stay',
    needs: 'none',
    run: setFaults,
  },
  {
    method: 'POST',
    path: '/sandbox/ledger',
    summary: 'Run ledger actions in the given order',
    needs: 'none',
    run: runActs,
  },
];

function hostOf(request: IncomingMessage): string {
  const { host } = request.headers;
  return host !== undefined && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : '';
}

/**
 * True for a request to these endpoints from a program on this machine; false for requests from browser pages and other
 * machines.
 */
export function isLocalAdmin(request: IncomingMessage, pathPrefix: string): boolean {
  const local = isThisMachine(request.socket.remoteAddress ?? '');
  const isAdminPath = (request.url ?? '').startsWith(`${pathPrefix}/sandbox/`);
  return isAdminPath && local && isThisMachine(hostOf(request)) && request.headers.origin === undefined;
}

// Addresses of this machine.

/**
 * Whether the host of a URL, or the address of a socket, is this machine. Only literal addresses count: 127.example.org
 * may belong to a third party.
 */
function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').replace('::ffff:', '');
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
  );
}
