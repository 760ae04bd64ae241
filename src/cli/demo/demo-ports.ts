/**
 * Chooses the ports of a demo. They are stored in its data folder, so that addresses pasted into a client stay valid
 * after the next start. If another process uses a port, the demo uses the next free one.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePortFrom, isFree, portHolder } from '../../observe/http/local-ports.ts';
import type { Logger } from '../../observe/log/logger.ts';
import { readSmallFileSync } from '../../config/small-file.ts';

/** The servers of an embedded run that need a port. */
export type DemoPart = 'postgres' | 'ledger' | 'http';

/** First ports for a new demo. They are below the ports that systems use for outgoing connections. */
export const firstPorts = { postgres: 15_432, ledger: 17_575 } as const;

const portRetryMs = 100;

/**
 * The port that this part used in the previous run, or `first`. If that port is in use, the next free port is returned,
 * and the process that uses the port is logged.
 */
export async function demoPort(
  { dataDir, logger }: { readonly dataDir: string; readonly logger: Logger },
  demoPart: DemoPart,
  first: number,
  host = '127.0.0.1',
): Promise<number> {
  const preferredPort = readPorts(dataDir)[demoPart] ?? first;
  if (await isFree(preferredPort, host)) return preferredPort;
  // Another demo that starts at the same time may use the port after this check.
  await sleep(portRetryMs);
  if (await isFree(preferredPort, host)) return preferredPort;
  const port = await freePortFrom(preferredPort + 1, host);
  logger.warn(
    { part: demoPart, requestedPort: preferredPort, usedBy: portHolder(preferredPort), port },
    'demo port is taken, using another one',
  );
  return port;
}

/** Stores the port of this part for the next start. */
export function keepPort(dataDir: string, demoPart: DemoPart, port: number): void {
  const storedPorts = readPorts(dataDir);
  if (storedPorts[demoPart] === port) return;
  const file = portsFile(dataDir);
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...storedPorts, [demoPart]: port })}\n`);
  renameSync(`${file}.new`, file);
}

function readPorts(dataDir: string): Readonly<Partial<Record<DemoPart, number>>> {
  try {
    const storedPorts = JSON.parse(readSmallFileSync(portsFile(dataDir))) as Partial<Record<DemoPart, unknown>>;
    const usable = Object.entries(storedPorts).filter(
      ([, port]) => Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536,
    );
    return Object.fromEntries(usable);
  } catch {
    // The file does not exist yet or was edited, so new ports are chosen.
    return {};
  }
}

function portsFile(dataDir: string): string {
  return join(dataDir, 'ports.json');
}
