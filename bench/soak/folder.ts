/** The folder of a soak: its settings and positions, which the next piece continues. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { ClientGroup } from './groups.ts';
import type { SavedReference } from './reference.ts';

export interface Ports {
  readonly ledger: number;
  readonly postgres: number;
  readonly indexer: number;
  readonly tokens: number;
  readonly webhook: number;
}

export interface SoakState {
  readonly seed: number;
  readonly ports: Ports;
  /** Number of complete pieces, and their traffic, seconds. */
  readonly pieces: number;
  readonly seconds: number;
  /** Absent before the first piece has begun its traffic. */
  readonly groups?: readonly ClientGroup[];
  /** The offset after which clients and webhook began, and the webhook's template. */
  readonly after?: number;
  readonly webhookTemplate?: string;
  readonly reference?: SavedReference;
  /** False while a piece runs: a piece that was interrupted cannot be continued. */
  readonly isComplete: boolean;
}

const stateName = 'soak.json';

/** @throws Error if `isResumed` and there is nothing to continue, or if a new soak would overwrite one */
export async function openFolder(folder: string, isResumed: boolean): Promise<SoakState> {
  const file = join(folder, stateName);
  if (isResumed) {
    if (!existsSync(file)) throw new Error(`--resume ${folder}: expected the folder of a soak, with ${stateName}`);
    const state = JSON.parse(readFileSync(file, 'utf8')) as SoakState;
    if (!state.isComplete) throw new Error(`--resume ${folder}: its last piece did not end; begin a new soak`);
    return state;
  }
  if (existsSync(file)) throw new Error(`--keep ${folder}: it has a soak already; continue it with --resume ${folder}`);
  mkdirSync(folder, { recursive: true });
  const [ledger = 0, postgres = 0, indexer = 0, tokens = 0, webhook = 0] = await freePorts(5);
  return { seed: 1, ports: { ledger, postgres, indexer, tokens, webhook }, pieces: 0, seconds: 0, isComplete: true };
}

export function saveState(folder: string, state: SoakState): void {
  const file = join(folder, stateName);
  writeFileSync(`${file}.tmp`, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(`${file}.tmp`, file);
}

/**
 * Ports that keep until the end of the soak. They are below those that systems assign to outgoing connections, because
 * one of these could take the port of a server that restarts.
 */
const portRange = { first: 15_000, size: 15_000 } as const;

async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  for (let index = 0; ports.length < count && index < portRange.size; index += 1) {
    const port = portRange.first + ((process.pid * count + index) % portRange.size);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
