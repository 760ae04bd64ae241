/** Reads the checkpoint of an indexer over HTTP. */
import { waitFor } from '../../support/wait-for.ts';
import type { Daemon } from './daemon.ts';

/** Resolves when the checkpoint is exactly this offset. */
export async function waitUntilStored(daemon: Pick<Daemon, 'http'>, offset: number): Promise<void> {
  const url = `${await daemon.http()}/status`;
  await waitFor(`offset ${String(offset)} is stored`, async () => {
    const { checkpoint } = (await (await fetch(url)).json()) as { readonly checkpoint: number | null };
    return checkpoint === offset ? true : undefined;
  });
}
