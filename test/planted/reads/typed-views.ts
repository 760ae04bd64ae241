/** Bugs of the typed views: missing rows, and casts in queries of readers that encounter values of other templates. */
import type { PlantedArea } from '../planted.ts';

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
      name: 'the view of a template has contracts of another package with a template of the same name',
      file: 'src/store/typed/shapes.ts',
      line: 'return `${isNamed(alias, subject)} and ${alias}.package_name = ${escapeLiteral(subject.packageName)}`;',
      instead: "return `${isNamed(alias, subject)} and ${alias}.package_name <> ''`;",
      test,
    },
    {
      name: 'exercises of an interface’s choice are in the view of the template’s own choice',
      file: 'src/store/typed/shapes.ts',
      line: ' and ${choice}.interface_pk = 0`',
      instead: '`',
      test,
    },
    {
      name: 'new columns of every view come before the fields of an existing view',
      file: 'src/store/typed/definitions.ts',
      line: '([left], [other]) => positionOf(left) - positionOf(other)',
      instead: "() => positionOf('') - existingNames.length",
      test,
    },
    {
      name: 'the view of a choice called History takes the name of the history of the template',
      file: 'src/daml/view-names.ts',
      line: 'if (usedNames.has(name) || usedNames.has(name + historySuffix)) return false;',
      instead: 'return !usedNames.has(name);',
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
      name: 'contracts of an active template are read before their template',
      file: 'migrations/read/20_read_paths.sql',
      line: 'c."offset" = l."offset" and c.node_id = l.node_id\n          /*alone*/and (template is null or',
      instead: 'c."offset" = l."offset" and c.node_id = l.node_id\n          /*alone*/and (true or',
      test: 'read/casts/casts.test.ts',
    },
    {
      name: 'active contracts under the names of PQS are recognized by the live row, not by its payload',
      file: 'migrations/read/33_pqs_rows.sql',
      line: 'l."offset" as guessed, c.template_pk as own_pk',
      instead: 'l."offset" as guessed, l.template_pk as own_pk',
      test: 'read/casts/casts.test.ts',
    },
  ],
};
