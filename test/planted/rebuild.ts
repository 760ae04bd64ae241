/** What a storage that takes the place of another could lose or leave behind. */
import type { PlantedArea } from './planted.ts';

const test = 'rebuild/survivors.slow.test.ts';
const objects = 'src/store/swap/objects.ts';
const carried = '[owners, settings, grants, policies, triggers, comments, publishedTables, ...bySchema]';

export const rebuild: PlantedArea = {
  name: 'rebuild',
  defects: [
    {
      name: 'a storage that is behind the live one takes its place',
      file: 'src/store/swap/swap.ts',
      line: 'if (checkpoint < halted.checkpoint || (checkpoint > halted.checkpoint && !ahead)) {',
      instead: 'if (checkpoint > halted.checkpoint && !ahead) {',
      test: 'rebuild/rebuild.long.test.ts',
      only: 'is not swapped before it is caught up, and copies redactions made since then',
    },
    {
      name: 'the live stream is swapped although it moved since it was halted',
      file: 'src/store/swap/swap.ts',
      line: `if (ours?.checkpoint !== halted.checkpoint || ours.epoch !== halted.epoch) throw fenced('the live stream moved');`,
      instead: `if (ours === undefined) throw fenced('the live stream moved');`,
      test: 'rebuild/rebuild.long.test.ts',
      only: 'is not swapped before it is caught up, and copies redactions made since then',
    },
    {
      name: 'what was redacted while the new storage was filled keeps its contents there',
      file: 'src/store/swap/rows.ts',
      line: 'await removeRedacted(client, to);',
      instead: 'await Promise.resolve(removeRedacted);',
      test: 'rebuild/rebuild.long.test.ts',
      only: 'is not swapped before it is caught up, and copies redactions made since then',
    },
    {
      name: 'whoever was granted something has nothing after the swap',
      file: objects,
      line: carried,
      instead: carried.replace('grants, ', '...(grants ? [] : []), '),
      test,
    },
    {
      name: 'policies of roles that are limited to parties are left behind',
      file: objects,
      line: carried,
      instead: carried.replace('policies, ', '...(policies ? [] : []), '),
      test,
    },
    {
      name: 'indexes of people are left behind',
      file: objects,
      line: '...(await statements(client, missingIndexes, from, to)),',
      instead: '',
      test,
    },
    {
      name: 'views of people go on reading the former storage',
      file: 'src/store/swap/swap.ts',
      line: 'await moveDependents(client, outgoing, schema);',
      instead: 'await Promise.resolve(moveDependents);',
      test,
    },
    {
      name: 'holds are forgotten',
      file: 'src/store/tables/kept.ts',
      line: "    limited: 'none',\n    carried: 'wholly',",
      instead: "    limited: 'none',",
      test,
    },
    {
      name: 'the new storage has a lower epoch than the former writer',
      file: 'src/store/swap/swap.ts',
      line: 'const epoch = (await takeEpoch(client, undefined)) + halted.epoch;',
      instead: 'const epoch = await takeEpoch(client, undefined);',
      test: 'rebuild/rebuild.long.test.ts',
      only: 'equals a fresh index, and the indexer continues in it',
    },
  ],
};
