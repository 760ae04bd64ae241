/**
 * A lock in a folder, so that only one export runs at a time. The lock names its holder and is touched while it is
 * held. Another export takes it over if its process has ended, or if another machine has not touched it for a minute.
 */
import { open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { LakeError } from '../errors/lake-error.ts';

export const lockName = '.lock';
export const touchEveryMs = 15_000;
export const staleAfterMs = 60_000;

export interface Holder {
  readonly host: string;
  readonly pid: number;
}

/** Runs `work` while holding the lock of the folder. @throws LakeError EXPORT_BUSY; errors of `work` */
export async function whileLocked<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const path = join(folder, lockName);
  await takeLock(path);
  const touchTimer = setInterval(() => void touch(path), touchEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(touchTimer);
    await rm(path, { force: true });
  }
}

async function takeLock(path: string): Promise<void> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      const file = await open(path, 'wx', 0o600);
      await file.writeFile(JSON.stringify({ host: hostname(), pid: process.pid } satisfies Holder));
      await file.close();
      return;
    } catch (error) {
      if (!(error instanceof Error) || Reflect.get(error, 'code') !== 'EEXIST') throw error;
    }
    const holder = await holderOf(path);
    if (holder !== undefined) throw lockedByProcess(path, holder);
    await rm(path, { force: true });
  }
  throw lockedByProcess(path, undefined);
}

/** The holder of the lock; undefined if the lock is not held any more. */
async function holderOf(path: string): Promise<Holder | undefined> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const isFresh = Date.now() - mtimeMs < staleAfterMs;
    // An empty lock was created a moment ago, or its creator ended immediately.
    if (text === '') return isFresh ? { host: hostname(), pid: 0 } : undefined;
    const holder = JSON.parse(text) as Holder;
    const isThisHost = holder.host === hostname();
    return (isThisHost ? holder.pid !== process.pid && isAlive(holder.pid) : isFresh) ? holder : undefined;
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && Reflect.get(error, 'code') === 'EPERM';
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => undefined);
}

export function lockedByProcess(path: string, holder: Holder | undefined): LakeError {
  const holderText = holder === undefined ? 'another process' : `process ${String(holder.pid)} on ${holder.host}`;
  return new LakeError(`nothing was exported: ${holderText} is writing to this folder (${path})`, {
    code: 'EXPORT_BUSY',
    remedy: 'wait for the other export or end it, and run the command again',
  });
}
