/** Faults of the connections to both servers: connections that end, freeze, or lose messages. */
import type { ChaosWorld, FaultKind } from './fault-kind.ts';
import type { Verdict } from './wire-proxy.ts';
import type { Direction, Protocol, Unit } from './wire-units.ts';

const always = ['seed', 'follow'] as const;

/** Number of units that pass before the fault. One batch or the start of one connection sends about as many. */
function some({ random }: ChaosWorld, protocol: Protocol, direction: Direction): number {
  if (protocol === 'postgres') return random.between(0, 60);
  return direction === 'up' ? random.between(0, 2) : random.between(0, 8);
}

function onWire(
  name: string,
  protocol: Protocol,
  direction: Direction,
  verdict: (unit: Unit, world: ChaosWorld) => Verdict,
): FaultKind {
  return {
    name: `${protocol} ${direction}: ${name}`,
    moments: always,
    arm: (world) =>
      world.wires.armAfter(protocol, direction, some(world, protocol, direction), (unit) => verdict(unit, world)),
  };
}

const withinUnit =
  (act: 'cut' | 'reset') =>
  (unit: Unit, { random }: ChaosWorld): Verdict => ({
    act,
    keepBytes: random.between(1, Math.max(1, unit.bytes.length - 1)),
  });

function endings(protocol: Protocol, direction: Direction): FaultKind[] {
  return [
    onWire('closed between messages', protocol, direction, () => ({ act: 'cut', keepBytes: 0 })),
    onWire('reset between messages', protocol, direction, () => ({ act: 'reset', keepBytes: 0 })),
    onWire('closed within a message', protocol, direction, withinUnit('cut')),
    onWire('reset within a message', protocol, direction, withinUnit('reset')),
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
const committing = ['move-checkpoint', 'advance-seed'];

function isCommit(unit: Unit): boolean {
  if (unit.type === 'B') return committing.some((name) => unit.bytes.includes(name));
  return unit.type === 'Q' && /commit/i.test(unit.bytes.toString('latin1', 5, 16));
}

/** Faults between the statement of a commit and its reply. */
function armAtCommit({ wires, random }: ChaosWorld, lose: 'reply' | 'request'): Promise<void> {
  let left = random.between(0, 3);
  const committed = new Set<number>();
  let losing: number | undefined;
  return wires.arm('postgres', (unit, connection, done) => {
    if (losing === connection) return afterCommit(unit, done);
    if (losing !== undefined || unit.direction === 'down') return undefined;
    if (isCommit(unit)) committed.add(connection);
    if (unit.type !== 'S' && unit.type !== 'Q') return undefined;
    if (!committed.delete(connection)) return undefined;
    left -= 1;
    if (left >= 0) return undefined;
    if (lose === 'reply') {
      losing = connection;
      return undefined;
    }
    done();
    return { act: 'reset', keepBytes: 0 };
  });
}

/** The server has committed and replied, but the reply is dropped. */
function afterCommit(unit: Unit, done: () => void): Verdict | undefined {
  if (unit.direction === 'up') return undefined;
  if (unit.type !== 'Z') return { act: 'drop' };
  done();
  return { act: 'reset', keepBytes: 0 };
}

/** This is long enough for the indexer to detect the fault with its own pings. */
const untilNoticedMs = 800;

function frozenStream(direction: Direction, name: string): FaultKind {
  return {
    name,
    moments: ['follow'],
    arm: ({ wires, random }) => {
      const verdict: Verdict = { act: 'freeze', ms: untilNoticedMs, end: 'reset' };
      const isFrame = ({ type }: Unit): boolean => type === 'frame';
      return wires.armAfter('ledger', direction, random.between(0, 3), () => verdict, isFrame);
    },
  };
}

export const wireFaults: readonly FaultKind[] = [
  ...endings('postgres', 'up'),
  ...endings('postgres', 'down'),
  ...endings('ledger', 'down'),
  ...endings('ledger', 'up').filter(({ name }) => name.includes('between') || name.includes('delay')),
  { name: 'postgres: the reply to a commit is lost', moments: always, arm: (world) => armAtCommit(world, 'reply') },
  { name: 'postgres: closed before a commit arrives', moments: always, arm: (world) => armAtCommit(world, 'request') },
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
