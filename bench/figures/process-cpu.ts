/**
 * CPU time and memory of processes, read from /proc. Without /proc the values are unknown, and the tables leave them
 * empty.
 */
import { readFileSync, readdirSync } from 'node:fs';

/** Linux reports CPU times in hundredths of a second to user space, whatever the kernel's own tick. */
const microsecondsPerTick = 10_000;

interface Stat {
  readonly parent: number;
  /** CPU ticks of the process and of children that it has waited for. */
  readonly ticks: number;
  readonly waitedTicks: number;
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    // The name in parentheses may contain spaces; the fields after it do not.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, childUserTicks = 0, childSystemTicks = 0] = fields.slice(11, 15);
    return { parent, ticks: user + system, waitedTicks: childUserTicks + childSystemTicks };
  } catch {
    return undefined;
  }
}

/** CPU time of one process so far, microseconds. */
export function processCpu(pid: number): number | undefined {
  const stat = statOf(pid);
  return stat === undefined ? undefined : stat.ticks * microsecondsPerTick;
}

/**
 * CPU time of a process, its children and its finished children, microseconds. For Postgres, that is the complete
 * server.
 */
export function treeCpu(root: number): number | undefined {
  // A child that ends during the read would not be counted, so the read is repeated until no child has ended meanwhile.
  for (let statBefore = statOf(root); statBefore !== undefined;) {
    let ticks = statBefore.ticks + statBefore.waitedTicks;
    for (const child of childrenOf(root)) {
      const stat = statOf(child);
      if (stat !== undefined) ticks += stat.ticks + stat.waitedTicks;
    }
    const statAfter = statOf(root);
    if (statAfter?.waitedTicks === statBefore.waitedTicks) return ticks * microsecondsPerTick;
    statBefore = statAfter;
  }
  return undefined;
}

/** Postgres has one level of processes below the postmaster. */
function childrenOf(root: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0 && statOf(pid)?.parent === root);
}

/** Peak resident memory so far, MiB. */
export function peakRssMiB(pid: number): number | undefined {
  return memory(pid, 'VmHWM');
}

/** Resident memory now, MiB. */
export function rssMiB(pid: number): number | undefined {
  return memory(pid, 'VmRSS');
}

function memory(pid: number, field: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    const memoryMatch = new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)?.[1];
    return memoryMatch === undefined ? undefined : Number(memoryMatch) / 1024;
  } catch {
    return undefined;
  }
}

/** Parent of a process; undefined if it cannot be read. */
export function parentOf(pid: number): number | undefined {
  return statOf(pid)?.parent;
}
