/** Bugs in the numbers of dictionary entries: a batch with many new names, and names that become known later. */
import type { PlantedArea } from './planted.ts';

const test = 'store/dictionaries.test.ts';

export const dictionaries: PlantedArea = {
  name: 'dictionaries',
  defects: [
    {
      name: 'of the new templates of a batch only the first 64 are stored',
      file: 'src/store/write/dictionary-store.ts',
      line: '...addedEntries.templates.map((entry) => ({',
      instead: '...addedEntries.templates.slice(0, 64).map((entry) => ({',
      test,
      only: 'a hundred new names',
    },
    {
      name: 'choices of one template and another, by interfaces 64 apart, share a number',
      file: 'src/model/dictionary.ts',
      line: 'return templatePk * 2 ** 24 + interfacePk;',
      instead: 'return templatePk * 64 + interfacePk;',
      test,
      only: 'a hundred new names',
    },
    {
      name: 'events of one choice on the 65th synchronizer are counted as those of the next choice on the first',
      file: 'src/model/activity.ts',
      line: 'const key = choicePk * 2 ** 20 + synchronizerPk;',
      instead: 'const key = choicePk * 64 + synchronizerPk;',
      test,
      only: 'a hundred new names',
    },
    {
      name: 'a package name that comes after the template is ignored',
      file: 'src/model/dictionary.ts',
      line: 'if (existingPk !== undefined && (packageName === null || existingPk.packageName !== null)) return existingPk.pk;',
      instead: 'if (existingPk !== undefined && existingPk.pk > 0) return existingPk.pk;',
      test,
      only: 'late package name',
    },
    {
      name: 'after a restart a template without a package name counts as one that has it',
      file: 'src/store/write/dictionary-store.ts',
      line: 'packageName: row.package_name,',
      instead: "packageName: row.package_name ?? '',",
      test,
      only: 'after a restart',
    },
    {
      name: 'dictionary entries of a session survive its end, stored or not',
      file: 'src/store/write/session.ts',
      line: 'dictionary: await loadDictionary(client),',
      instead: 'dictionary: ((globalThis as unknown as { kept?: Dictionary }).kept ??= await loadDictionary(client)),',
      test,
      only: 'names of a rolled-back batch',
    },
    {
      name: 'a restarted seed takes the names of the first one for stored',
      file: 'src/store/write/session.ts',
      line: 'this.#dictionary = await loadDictionary(client);',
      instead: '',
      test,
      only: 'names of a restarted seed',
    },
  ],
};
