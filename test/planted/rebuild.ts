/** Bugs by which a swap of schemas loses rows or leaves objects behind. */
import type { PlantedArea } from './planted.ts';

const test = 'rebuild/survivors.slow.test.ts';
const objects = 'src/store/swap/objects.ts';
const migratedObjects = '[owners, settings, grants, policies, triggers, comments, publishedTables, ...schemaQueries]';

export const rebuild: PlantedArea = {
  name: 'rebuild',
  defects: [
    {
      name: 'a storage that is behind the live one replaces it',
      file: 'src/store/swap/swap.ts',
      line: 'if (checkpoint < writerStopped.checkpoint || (checkpoint > writerStopped.checkpoint && !isAhead)) {',
      instead: 'if (checkpoint > writerStopped.checkpoint && !isAhead) {',
      test: 'rebuild/rebuild.long.test.ts',
      only: 'refuses a swap before the new schema has caught up, and copies concurrent redactions',
    },
    {
      name: 'the live stream is swapped although it moved after it was stopped',
      file: 'src/store/swap/swap.ts',
      line: `if (liveStream?.checkpoint !== writerStopped.checkpoint || liveStream.epoch !== writerStopped.epoch)\n    throw fencedError('the live stream moved');`,
      instead: `if (liveStream === undefined) throw fencedError('the live stream moved');`,
      test: 'rebuild/rebuild.long.test.ts',
      only: 'refuses a swap before the new schema has caught up, and copies concurrent redactions',
    },
    {
      name: 'contents that were redacted while the new storage was filled stay there',
      file: 'src/store/swap/rows.ts',
      line: 'await removeRedacted(client, to);',
      instead: 'await Promise.resolve(removeRedacted);',
      test: 'rebuild/rebuild.long.test.ts',
      only: 'refuses a swap before the new schema has caught up, and copies concurrent redactions',
    },
    {
      name: 'grants are lost in the swap',
      file: objects,
      line: migratedObjects,
      instead: migratedObjects.replace('grants, ', '...(grants ? [] : []), '),
      test,
    },
    {
      name: 'policies of roles that are limited to parties are lost',
      file: objects,
      line: migratedObjects,
      instead: migratedObjects.replace('policies, ', '...(policies ? [] : []), '),
      test,
    },
    {
      name: 'indexes added by users are lost',
      file: objects,
      line: '...(await statements(client, missingIndexes, from, to)),',
      instead: '',
      test,
    },
    {
      name: 'views of users still read the previous storage',
      file: 'src/store/swap/swap.ts',
      line: 'await moveDependents(client, previousSchema, schema);',
      instead: 'await Promise.resolve(moveDependents);',
      test,
    },
    {
      name: 'holds are lost',
      file: 'src/store/tables/kept.ts',
      line: "    limited: 'none',\n    carried: 'wholly',",
      instead: "    limited: 'none',",
      test,
    },
    {
      name: 'the new storage has a lower epoch than the previous writer',
      file: 'src/store/swap/swap.ts',
      line: 'const epoch = (await increaseEpoch(client, undefined)) + writerStopped.epoch;',
      instead: 'const epoch = await increaseEpoch(client, undefined);',
      test: 'rebuild/rebuild.long.test.ts',
      only: 'equals a fresh index after the indexer has continued',
    },
  ],
};
