/**
 * The ports of a demo. They are kept in its folder of data, so that what was pasted into a client works after the next
 * start too; one that somebody else has taken meanwhile is left to them, for the next free one.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePortFrom, isFree, portHolder } from '../../observe/http/local-ports.ts';
import type { Logger } from '../../observe/log/logger.ts';
import { readSmallFileSync } from '../../config/small-file.ts';

/** What an embedded run listens with. */
export type DemoPart = 'postgres' | 'ledger' | 'http';

/** Where a new demo begins to look: below the ports that systems lend to outgoing connections. */
export const firstPorts = { postgres: 15_432, ledger: 17_575 } as const;

const lookAgainMs = 100;

/** The port of this part the last time, or `first`; when it is taken the next free one, and a word on who has it. */
export async function demoPort(
  { dataDir, logger }: { readonly dataDir: string; readonly logger: Logger },
  part: DemoPart,
  first: number,
  host = '127.0.0.1',
): Promise<number> {
  const wanted = readPorts(dataDir)[part] ?? first;
  if (await isFree(wanted, host)) return wanted;
  // Another demo that starts now may only be looking, too.
  await sleep(lookAgainMs);
  if (await isFree(wanted, host)) return wanted;
  const port = await freePortFrom(wanted + 1, host);
  logger.warn(
    { part, requestedPort: wanted, usedBy: portHolder(wanted), port },
    'a port of the demo is taken: it uses another one',
  );
  return port;
}

/** Remembers where the part listens. */
export function keepPort(dataDir: string, part: DemoPart, port: number): void {
  const kept = readPorts(dataDir);
  if (kept[part] === port) return;
  const file = fileIn(dataDir);
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...kept, [part]: port })}\n`);
  renameSync(`${file}.new`, file);
}

function readPorts(dataDir: string): Readonly<Partial<Record<DemoPart, number>>> {
  try {
    const kept = JSON.parse(readSmallFileSync(fileIn(dataDir))) as Partial<Record<DemoPart, unknown>>;
    const usable = Object.entries(kept).filter(
      ([, port]) => Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536,
    );
    return Object.fromEntries(usable);
  } catch {
    // There is none yet, or somebody edited it: ports are chosen anew.
    return {};
  }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'ports.json');
}
