/** Causes that affect the disk of the Postgres server. */
import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mountSmallDisk, smallDiskSkipReason, type SmallDisk } from '../../ha/small-disk.ts';
import type { AlertCause } from './cause.ts';
import type { CauseWorld } from './world.ts';

const disks = new WeakMap<CauseWorld, SmallDisk>();
const megabytes = 96;

export const diskCauses: readonly AlertCause[] = [
  {
    group: 'Disk',
    what: 'the disk of Postgres is full',
    soon: { code: 'STORE_FULL', state: 'backing_off' },
    alerts: ['IndexerDiskFull'],
    missing: smallDiskSkipReason,
    world: {
      prepare: async (world) => {
        const disk = await mountSmallDisk(megabytes);
        world.closing.push(() => disk[Symbol.asyncDispose]());
        disks.set(world, disk);
        await world.sql(`create tablespace small location '${disk.folder}'`, 'postgres');
        return 'tablespace small';
      },
    },
    provoke: (world) => {
      const folder = disks.get(world)?.folder ?? '';
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(join(folder, 'somebody-else'), Buffer.alloc(bavail * bsize));
    },
    end: (world) => disks.get(world)?.grow(megabytes * 2),
  },
];
