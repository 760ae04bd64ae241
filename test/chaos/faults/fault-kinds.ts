/** All kinds of faults that are caused within the process of the suite. */
import type { FaultKind } from './fault-kind.ts';
import { ledgerFaults } from './faults-ledger.ts';
import { postgresFaults } from './faults-postgres.ts';
import { wireFaults } from './faults-wire.ts';

const bothMoments = ['seed', 'follow'] as const;

/** The indexer dies before one of its next messages. */
const deathFault: FaultKind = {
  name: 'indexer: dropped dead',
  moments: bothMoments,
  needs: 'death',
  arm: ({ wires, random }) =>
    wires.armAfter('postgres', 'up', random.between(0, 60), () => ({ act: 'reset', keepBytes: 0 })),
};

/** The indexer dies before one of its next messages, while a second indexer waits for the writer lock. */
const takeover: FaultKind = {
  name: 'indexer: dropped dead with a second one standing by',
  moments: bothMoments,
  needs: 'takeover',
  arm: ({ wires, random }) => wires.armAfter('postgres', 'up', random.between(0, 60), () => ({ act: 'pass' })),
};

/** An operator stops the indexer and starts it again. */
const restart: FaultKind = {
  name: 'indexer: stopped and started',
  moments: bothMoments,
  needs: 'restart',
  arm: ({ wires, random }) => wires.armAfter('postgres', 'up', random.between(0, 60), () => ({ act: 'pass' })),
};

export const faultKinds: readonly FaultKind[] = [
  ...wireFaults,
  ...ledgerFaults,
  ...postgresFaults,
  deathFault,
  takeover,
  restart,
];
