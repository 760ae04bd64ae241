/** The typed views once lacked rows, and casts of readers met what other templates hold: no test asked for either. */
import type { PlantedArea } from './planted.ts';

const test = 'read/typed/typed-history.test.ts';

export const typedViews: PlantedArea = {
  name: 'typed-views',
  defects: [
    {
      name: 'the history lacks contracts that were never active',
      file: 'src/store/typed/shapes.ts',
      line: "`from ${in_('contract_states')} l`,",
      instead: "`from ${in_('lifetimes')} l`,",
      test,
    },
    {
      name: 'a template shows contracts of another package whose template is called the same',
      file: 'src/store/typed/shapes.ts',
      line: 'return `${isNamed(alias, subject)} and ${alias}.package_name = ${escapeLiteral(subject.packageName)}`;',
      instead: "return `${isNamed(alias, subject)} and ${alias}.package_name <> ''`;",
      test,
    },
    {
      name: 'exercises of an interface’s choice stand in the view of the template’s own choice',
      file: 'src/store/typed/shapes.ts',
      line: ' and ${choice}.interface_pk = 0`',
      instead: '`',
      test,
    },
    {
      name: 'new columns of every view come before the fields of a view that is there',
      file: 'src/store/typed/definitions.ts',
      line: '([one], [other]) => place(one) - place(other)',
      instead: "() => place('') - there.length",
      test,
    },
    {
      name: 'the view of a choice called History takes the name of the history of the template',
      file: 'src/daml/view-names.ts',
      line: 'if (taken.has(name) || taken.has(name + historySuffix)) return false;',
      instead: 'return !taken.has(name);',
      test: 'daml/view-names.test.ts',
    },
    {
      name: 'the condition of typed views on numbers counts more than a cast',
      file: 'src/store/typed/shapes.ts',
      line: 'return `array_position(array(${numbers}), ${column}) is not null`;',
      instead: 'return `${column} = any (array(${numbers}))`;',
      test: 'read/casts/casts.test.ts',
    },
    {
      name: 'contracts of an active template are looked at before their template',
      file: 'migrations/read/20_read_paths.sql',
      line: 'c."offset" = l."offset" and c.node_id = l.node_id\n          /*alone*/and (template is null or',
      instead: 'c."offset" = l."offset" and c.node_id = l.node_id\n          /*alone*/and (true or',
      test: 'read/casts/casts.test.ts',
    },
    {
      name: 'what is active under the names of PQS is told apart by the row of what is live, not of its payload',
      file: 'migrations/read/33_pqs_rows.sql',
      line: 'l."offset" as guessed, c.template_pk as own_pk',
      instead: 'l."offset" as guessed, l.template_pk as own_pk',
      test: 'read/casts/casts.test.ts',
    },
  ],
};
