/** Bugs by which a filter extension in the background loses rows, adds them twice, or changes stored rows. */
import type { PlantedArea } from './planted.ts';

const file = 'src/store/history/filter-extension-fill.ts';
const test = 'history/extend-filter.long.test.ts';
const extendTestName = 'extends a list of parties to all parties that the token may read';

export const widen: PlantedArea = {
  name: 'widen',
  defects: [
    {
      name: 'contracts of a step are added without their lifetimes',
      file,
      line: 'await addStates(client, staging, range);',
      instead: '',
      test: 'history/extend-filter-disturbed.long.test.ts',
      only: 'filter extend is resumed by the next writer',
    },
    {
      name: 'contracts that were already stored are counted again',
      file,
      line: `await copyRows(client, staging, 'contracts', { where: condition, into: \`\${staging}.arrived\` });`,
      instead: `await copyRows(client, staging, 'contracts', { where: condition });
  await client.query(\`insert into \${staging}.arrived select r."offset", r.node_id from \${staging}.contracts r where \${condition}\`);`,
      test,
      only: extendTestName,
    },
    {
      name: 'the last contract of each step is lost',
      file,
      line: "and ${position} > (${after.join(', ')}) and ${position} <= (${upTo.join(', ')})`;",
      instead: "and ${position} > (${after.join(', ')}) and ${position} < (${upTo.join(', ')})`;",
      test: 'history/extend-filter-disturbed.long.test.ts',
      only: 'filter extend is resumed by the next writer',
    },
    {
      name: 'the filter counts from one offset after the one at which it comes into force',
      file: 'src/store/history/filter-extension.ts',
      line: 'filter_extended_from = array_append(filter_extended_from, $3), epoch = epoch + 1`,',
      instead:
        'filter_extended_from = array_append(filter_extended_from, $3), epoch = epoch + 1, checkpoint = checkpoint + 1`,',
      test,
      only: extendTestName,
    },
    {
      name: 'contracts that have ended since the list are added as active',
      file,
      line: 'coalesce(n.ended_offset, f.ended_offset) as ended_offset,',
      instead: 'n.ended_offset as ended_offset,',
      test,
      only: extendTestName,
    },
    {
      name: 'witnesses that an update named under the previous filter are lost',
      file,
      line: `o.witness_parties || array(select w.party from unnest(n.witness_parties) with ordinality w (party, place)
                                        where w.party <> all (o.witness_parties) order by w.place) as witness_parties`,
      instead: 'n.witness_parties as witness_parties',
      test,
      only: extendTestName,
    },
    {
      name: 'active contracts of the index may be missing from the list',
      file,
      line: 'await verifyStaged(client, staging);',
      instead: 'await Promise.resolve(verifyStaged);',
      test,
      only: 'adds nothing if the ledger lists other active contracts, and the stream continues',
    },
    {
      name: 'contents that were redacted while they were staged come back',
      file,
      line: 'where c."offset" = a."offset" and c.node_id = a.node_id and r.contract_id = id_text(c.contract_id)\n',
      instead:
        'where c."offset" = a."offset" and c.node_id = a.node_id and r.contract_id = id_text(c.contract_id) and false\n',
      test: 'history/extend-filter-disturbed.long.test.ts',
      only: 'filter extend restarts after a reset, and stores no redacted contents',
    },
  ],
};
