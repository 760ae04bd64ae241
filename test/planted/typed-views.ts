/** The typed views once lacked rows, and no test asked for those. */
import type { PlantedArea } from './planted.ts';

const test = 'read/typed/typed-history.test.ts';

export const typedViews: PlantedArea = {
  name: 'typed-views',
  defects: [
    {
      name: 'the history lacks contracts that were never active',
      file: 'src/store/typed/shapes.ts',
      line: '`from ${tables(explore)(view)} c`,',
      instead:
        "`from ${tables(explore)(view)} c join ${tables(storage)('lifetimes')} l on l.contract_id = c.contract_id and l.activated_offset = c.created_at_offset`,",
      test,
    },
    {
      name: 'a template shows contracts of another package whose template is called the same',
      file: 'src/store/typed/shapes.ts',
      line: "`where ${isNamed('c', subject)} and c.package_name = ${packageName}`,",
      instead: "`where ${isNamed('c', subject)} and ${packageName} <> ''`,",
      test,
    },
    {
      name: 'exercises of an interface’s choice stand in the view of the template’s own choice',
      file: 'src/store/typed/shapes.ts',
      line: 'on h.template_pk = t.template_pk and h.interface_pk = 0`',
      instead: 'on h.template_pk = t.template_pk`',
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
  ],
};
