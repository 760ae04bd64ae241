/** Faults of the connections to both servers: connections that end, freeze, or lose messages. */
import type { ChaosWorld, FaultKind } from './fault-kind.ts';
import type { Verdict } from './wire-proxy.ts';
import type { Direction, Protocol, WireUnit } from './wire-units.ts';

const bothMoments = ['seed', 'follow'] as const;

/** Number of units that pass before the fault. One batch or the start of one connection sends about as many. */
function randomUnit({ random }: ChaosWorld, protocol: Protocol, direction: Direction): number {
  if (protocol === 'postgres') return random.between(0, 60);
  return direction === 'up' ? random.between(0, 2) : random.between(0, 8);
}

function onWire(
  name: string,
  protocol: Protocol,
  direction: Direction,
  verdict: (unit: WireUnit, world: ChaosWorld) => Verdict,
): FaultKind {
  return {
    name: `${protocol} ${direction}: ${name}`,
    moments: bothMoments,
    arm: (world) =>
      world.wires.armAfter(protocol, direction, randomUnit(world, protocol, direction), (unit) => verdict(unit, world)),
  };
}

const faultInsideUnit =
  (closeKind: 'cut' | 'reset') =>
  (unit: WireUnit, { random }: ChaosWorld): Verdict => ({
    act: closeKind,
    keepBytes: random.between(1, Math.max(1, unit.bytes.length - 1)),
  });

function closeFaults(protocol: Protocol, direction: Direction): FaultKind[] {
  return [
    onWire('closed between messages', protocol, direction, () => ({ act: 'cut', keepBytes: 0 })),
    onWire('reset between messages', protocol, direction, () => ({ act: 'reset', keepBytes: 0 })),
    onWire('closed within a message', protocol, direction, faultInsideUnit('cut')),
    onWire('reset within a message', protocol, direction, faultInsideUnit('reset')),
    onWire('delay', protocol, direction, (_, { random }) => ({
      act: 'freeze',
      ms: random.between(5, 60),
      end: 'thaw',
    })),
    onWire('freeze, then reset', protocol, direction, (_, { random }) => ({
      act: 'freeze',
      ms: random.between(50, 200),
      end: 'reset',
    })),
  ];
}

/** Statements that are committed by the Sync message after them. */
const commitStatements = ['move-checkpoint', 'advance-seed'];

function isCommit(unit: WireUnit): boolean {
  if (unit.type === 'B') return commitStatements.some((name) => unit.bytes.includes(name));
  return unit.type === 'Q' && /commit/i.test(unit.bytes.toString('latin1', 5, 16));
}

/** Faults between the statement of a commit and its reply. */
function armAtCommit({ wires, random }: ChaosWorld, lostPart: 'reply' | 'request'): Promise<void> {
  let remainingUnits = random.between(0, 3);
  const committedConnections = new Set<number>();
  let losingConnection: number | undefined;
  return wires.arm('postgres', (unit, connection, callback) => {
    if (losingConnection === connection) return afterCommit(unit, callback);
    if (losingConnection !== undefined || unit.direction === 'down') return undefined;
    if (isCommit(unit)) committedConnections.add(connection);
    if (unit.type !== 'S' && unit.type !== 'Q') return undefined;
    if (!committedConnections.delete(connection)) return undefined;
    remainingUnits -= 1;
    if (remainingUnits >= 0) return undefined;
    if (lostPart === 'reply') {
      losingConnection = connection;
      return undefined;
    }
    callback();
    return { act: 'reset', keepBytes: 0 };
  });
}

/** The server has committed and replied, but the reply is dropped. */
function afterCommit(unit: WireUnit, callback: () => void): Verdict | undefined {
  if (unit.direction === 'up') return undefined;
  if (unit.type !== 'Z') return { act: 'drop' };
  callback();
  return { act: 'reset', keepBytes: 0 };
}

/** This is long enough for the indexer to detect the fault with its own pings. */
const detectionDelayMs = 800;

function frozenStream(direction: Direction, name: string): FaultKind {
  return {
    name,
    moments: ['follow'],
    arm: ({ wires, random }) => {
      const verdict: Verdict = { act: 'freeze', ms: detectionDelayMs, end: 'reset' };
      const isFrame = ({ type }: WireUnit): boolean => type === 'frame';
      return wires.armAfter('ledger', direction, random.between(0, 3), () => verdict, isFrame);
    },
  };
}

export const wireFaults: readonly FaultKind[] = [
  ...closeFaults('postgres', 'up'),
  ...closeFaults('postgres', 'down'),
  ...closeFaults('ledger', 'down'),
  ...closeFaults('ledger', 'up').filter(({ name }) => name.includes('between') || name.includes('delay')),
  {
    name: 'postgres: the reply to a commit is lost',
    moments: bothMoments,
    arm: (world) => armAtCommit(world, 'reply'),
  },
  {
    name: 'postgres: closed before a commit arrives',
    moments: bothMoments,
    arm: (world) => armAtCommit(world, 'request'),
  },
  frozenStream('down', 'ledger: the stream freezes, pings stay unanswered'),
  {
    name: 'postgres: the connection of the lock is reset',
    moments: ['seed'],
    arm: ({ wires, random }) =>
      wires.armAfter(
        'postgres',
        'down',
        random.between(0, 12),
        () => ({ act: 'reset', keepBytes: 0 }),
        (_, connection) => wires.isLock(connection),
      ),
  },
];
